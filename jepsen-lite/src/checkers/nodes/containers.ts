/**
 * A container stays while it has a child, and before it had one. And it goes: once everything has healed, within a bound of when it has been
 * empty for as long as servers wait, counted anew where another one began to lead.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import type { History } from '../../history/history.ts';
import { CONTAINER_CHECK_MS, CONTAINER_PARENT } from '../../history/unused-nodes.ts';
import { Findings } from '../findings.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';
import { GONE_WITHIN_MS, judgeCommon } from './goes.ts';
import { Instants } from './instants.ts';
import { emptySince, livesBelow, type Life, type Sight } from './lives.ts';

type Count = 'containers' | 'children' | 'gone' | 'goneUnderAChild' | 'seenEmpty' | 'neverUsed';

export function checkContainers(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('containers', [
    'containers',
    'children',
    'gone',
    'goneUnderAChild',
    'seenEmpty',
    'neverUsed',
  ]);
  const error = options.clockRateError ?? MAX_CLOCK_RATE_ERROR;
  const instants = new Instants(history);
  for (const life of livesBelow(CONTAINER_PARENT, history)) {
    const { path, children, missed, seen, made } = life;
    findings.count('containers');
    findings.count('children', children.size);
    judgeCommon(life, findings);
    const [first] = missed;
    if (first !== undefined) {
      findings.count('gone');
      // Somebody was about to create a child, and was told that it is gone.
      if (first.answer.type === 'fail' && first.answer.f === 'create') findings.count('goneUnderAChild');
    }
    if (children.size === 0) {
      findings.count('neverUsed');
      if (first !== undefined) findings.broken(`"${path}" is gone, and never had a child`, made.answer, first.answer);
    }
    for (const sight of seen) judgeSeen(life, sight, { instants, error }, findings);
  }
  return findings.verdict(findings.counted('gone') > 0);
}

interface Clocks {
  readonly instants: Instants;
  readonly error: number;
}

function judgeSeen(life: Life, seen: Sight, { instants, error }: Clocks, findings: Findings<Count>): void {
  const { healed } = instants;
  const isUsed = [...life.children.values()].some(({ made }) => made !== undefined && made.answer.seq < seen.call.seq);
  if (healed === undefined || seen.call.seq < healed.seq || !isUsed) return;
  const since = emptySince(life, seen);
  if (since === undefined) return;
  findings.count('seenEmpty');
  const leader = instants.leaderBetween(since.call.timeMs, seen.answer.timeMs);
  const dueMs = Math.max(since.answer.timeMs, leader?.timeMs ?? 0) + CONTAINER_CHECK_MS * (1 + error);
  if (seen.call.timeMs <= Math.max(dueMs, healed.timeMs) + GONE_WITHIN_MS) return;
  findings.broken(
    `"${life.path}" is still there ${Math.round(seen.call.timeMs - since.answer.timeMs)} ms after its last child has gone`,
    since.answer,
    leader,
    seen.answer,
  );
}
