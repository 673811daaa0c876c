/** Ensembles that lose a majority for good and begin anew with what one server has: one attempt is one of them. */

import { checkHistory, type CheckerName } from '../../checkers/check.ts';
import { loseMajority, type LostMajorityRun } from '../../targets/sim/lost-majority.ts';
import { failureOf, type Attempt, type Failure } from '../attempt.ts';

/** Those that need no log, of which a part is lost. */
const CHECKERS: readonly CheckerName[] = ['completions', 'tokens', 'exclusion', 'fence', 'lost-updates', 'unfenced'];

export async function recovery(seed: number): Promise<Attempt> {
  try {
    return { failure: judge(await loseMajority(seed)), simulatedMs: 0 };
  } catch (error) {
    return { failure: failureOf(error), simulatedMs: 0 };
  }
}

/** Undefined: every promise was kept. */
export function judge(run: LostMajorityRun): Failure | undefined {
  const { recorder, sessionsKept, oldIndex } = run;
  if (sessionsKept > 0) {
    return promise('a-recovery-ends-every-session', `${sessionsKept} sessions were in what the new servers began with`);
  }
  const lowest = lowestTokenAfter(run);
  if (lowest <= oldIndex) {
    const message = `token ${lowest} of the new cluster, where the old one had come to index ${oldIndex}`;
    return promise('tokens-rise-over-a-recovery', message);
  }
  const broken = checkHistory(recorder.events, { checkers: CHECKERS }).find((verdict) => verdict.broken.length > 0);
  if (broken === undefined) return undefined;
  return promise(`history: ${broken.checker}`, JSON.stringify(broken.broken[0]));
}

function lowestTokenAfter({ recorder, eventsBefore }: LostMajorityRun): number {
  let lowest = Infinity;
  for (const event of recorder.events) {
    if (event.type === 'ok' && event.f === 'acquire' && event.seq > eventsBefore) {
      lowest = Math.min(lowest, event.token);
    }
  }
  return lowest;
}

function promise(name: string, message: string): Failure {
  return { kind: 'promise', name, message };
}
