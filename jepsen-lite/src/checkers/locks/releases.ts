/** A hold is given back once, by the session that was notified of it; and when the caller is answered, the servers have done it. */

import { callsOf, type CompletionOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { nameOf, reportedHolds } from './holds.ts';
import { isLogEvent } from './log-order.ts';
import type { Verdict } from '../verdict.ts';

export function checkReleases(history: History): Verdict {
  const findings = new Findings('releases', ['released', 'refused']);
  const logged = history.some(isLogEvent);
  const reported = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  const done = new Map<string, CompletionOf<'release'>>();
  for (const { invoke, completion } of callsOf(history, 'release')) {
    if (completion === undefined) continue;
    if (completion.type !== 'ok') {
      findings.count('refused');
      continue;
    }
    findings.count('released');
    const { lock, session, token } = invoke;
    const name = nameOf(invoke);
    const what = `the release of lock ${lock} (token ${token}) by session ${session}`;
    const first = done.get(name);
    if (first !== undefined) findings.broken(`${what} was done twice`, first, completion);
    done.set(name, completion);
    const hold = reported.get(name);
    if (hold === undefined || hold.ok.session !== session || hold.ok.token !== token || hold.ok.seq > invoke.seq) {
      findings.broken(`${what} was done, which was not reported to it`, hold?.ok, invoke, completion);
    } else if (logged && (hold.removed === undefined || hold.removed.seq > completion.seq)) {
      findings.broken(`${what} was answered before any server had done it`, hold.ok, completion, hold.removed);
    } else if (logged && hold.removed?.reason !== 'released') {
      findings.broken(
        `${what} was answered with success, but it had been ${hold.removed?.reason}`,
        hold.removed,
        completion,
      );
    }
  }
  return findings.verdict(findings.counted('released') > 0);
}
