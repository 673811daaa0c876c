/**
 * A node with a time to live stays as long as it has children, and for that time after its last change: by the monotonic clock of whoever
 * leads, and where another one began to lead since, by the difference of the wall clocks of the two before that. And it goes: once
 * everything has healed, within a bound of when that is over. Time before an election that is in no entry does not count.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import type { History } from '../../history/history.ts';
import { LIMITED_PARENT } from '../../history/unused-nodes.ts';
import { Findings } from '../findings.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';
import { GONE_WITHIN_MS, judgeCommon } from './goes.ts';
import { Instants } from './instants.ts';
import { emptySince, livesBelow, type Life, type Sight } from './lives.ts';

type Count = 'nodes' | 'seen' | 'gone' | 'goneInTime' | 'seenUnused' | 'overAnElection' | 'excused';

export function checkTtlNodes(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('ttl-nodes', [
    'nodes',
    'seen',
    'gone',
    'goneInTime',
    'seenUnused',
    'overAnElection',
    'excused',
  ]);
  const error = options.clockRateError ?? MAX_CLOCK_RATE_ERROR;
  const instants = new Instants(history);
  for (const life of livesBelow(LIMITED_PARENT, history)) {
    findings.count('nodes');
    findings.count('seen', life.seen.length);
    judgeCommon(life, findings);
    const [missed] = life.missed;
    if (missed !== undefined) judgeGone(life, missed, { instants, error }, findings);
    for (const seen of life.seen) judgeSeen(life, seen, { instants, error }, findings);
  }
  return findings.verdict(findings.counted('gone') > 0);
}

interface Clocks {
  readonly instants: Instants;
  /** By how much any may run too fast or too slow. */
  readonly error: number;
}

/** It must have been unused for its time. */
function judgeGone(life: Life, missed: Sight, { instants, error }: Clocks, findings: Findings<Count>): void {
  const { path, ttlMs = 0, changes } = life;
  findings.count('gone');
  const change = changes.findLast(({ answer }) => answer.seq < missed.call.seq);
  if (change === undefined) return;
  const { call, answer } = change;
  const leader = instants.leaderBetween(call.timeMs, missed.answer.timeMs);
  let skewMs = 0;
  if (leader !== undefined) {
    findings.count('overAnElection');
    // Who began to lead took the difference of two wall clocks for time that had passed.
    if (instants.struckBefore('wall-jump', missed.answer)) {
      findings.count('excused');
      return;
    }
    if (instants.struckBefore('clock-rate', missed.answer)) skewMs = 2 * error * missed.answer.timeMs;
  }
  findings.count('goneInTime');
  const unusedMs = missed.answer.timeMs - call.timeMs;
  // A clock that counts whole milliseconds may begin one too early.
  if (unusedMs * (1 + error) + skewMs + 1 >= ttlMs) return;
  findings.broken(
    `"${path}" is gone ${Math.round(unusedMs)} ms after its last change, and had ${ttlMs} ms to live`,
    call,
    answer,
    missed.answer,
  );
}

/** Not later than a bound behind the end of its time. */
function judgeSeen(life: Life, seen: Sight, { instants, error }: Clocks, findings: Findings<Count>): void {
  const { path, ttlMs = 0, changes, unsure } = life;
  const { healed } = instants;
  if (healed === undefined || seen.call.seq < healed.seq) return;
  const since = emptySince(life, seen);
  if (since === undefined || unsure.some(({ seq }) => seq < seen.answer.seq)) return;
  if (changes.some(({ call, answer }) => call.seq < seen.answer.seq && answer.seq > seen.call.seq)) return;
  const change = changes.findLast(({ answer }) => answer.seq < seen.call.seq);
  if (change === undefined) return;
  const changedMs = change.answer.timeMs;
  const leader = instants.leaderBetween(change.call.timeMs, seen.answer.timeMs);
  let dueMs = changedMs + ttlMs * (1 + error);
  if (leader !== undefined) {
    if (instants.struckBefore('wall-jump', seen.answer)) return;
    const skewMs = instants.struckBefore('clock-rate', seen.answer) ? 2 * error * seen.answer.timeMs : 0;
    const countedMs = Math.max(0, instants.committedBefore(leader) - changedMs - skewMs);
    dueMs = Math.max(leader.timeMs, leader.timeMs + ttlMs * (1 + error) - countedMs);
  }
  findings.count('seenUnused');
  const goneByMs = Math.max(dueMs, since.answer.timeMs, healed.timeMs) + GONE_WITHIN_MS;
  if (seen.call.timeMs <= goneByMs) return;
  findings.broken(
    `"${path}" is still there ${Math.round(seen.call.timeMs - changedMs)} ms after its last change, and had ${ttlMs} ms to live`,
    change.answer,
    leader,
    seen.answer,
  );
}
