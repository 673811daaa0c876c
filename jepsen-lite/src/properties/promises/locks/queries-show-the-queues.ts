/** What the outputs reported of waits and holds is what `lock`, `locks`, `verify`, the sessions' listing and the counts show. */

import type { LockSummary, QueueEntry } from '@holdfast/protocol';

import { requestOf } from '../../../models/holders.ts';
import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import type { Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function queriesShowTheQueues(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'queries about locks show what was reported',
    observe(step) {
      const { changes, after } = step;
      // Other promises see to it that what changes nothing shows nothing new.
      if (changes.length === 0) return;
      const gone = changes.find(({ type }) => type === 'removed');
      for (const change of changes) acquires = changed(acquires, change);
      const locks = [...new Set(acquires.map(({ lock }) => lock))].sort();
      const holds = acquires.filter(({ token }) => token !== 0);
      const kinds = new Map(after.locks.map(({ lock, kind }) => [lock, kind]));
      const shown = [...after.queues].flatMap(([lock, queue]) =>
        queue.map((entry) => reported(lock, kinds.get(lock), entry)),
      );
      const expected = locks.flatMap((name) => acquires.filter(({ lock }) => lock === name));
      const wrong =
        difference(shown, expected) ??
        difference(after.counts.holds, holds.length) ??
        difference(after.counts.waits, acquires.length - holds.length) ??
        difference(pages(step, after.locks.length), after.locks) ??
        difference(
          after.locks.map(({ lock, holders, waiters }) => ({ lock, holders, waiters })),
          [...after.queues].map(([lock, queue]) => summary(lock, queue)),
        );
      demand(wrong === undefined, () => `what is shown of the queues is not what was reported:${wrong}`);
      for (const { lock, acquireIndex, token } of acquires) verified(step, lock, acquireIndex, token);
      if (gone?.type === 'removed') verified(step, gone.lock, gone.acquireIndex, 0);
      for (const { session, holds: shownHolds, waits } of after.summaries) {
        const own = acquires.filter((acquire) => acquire.session === session);
        const held = own.filter(({ token }) => token !== 0).length;
        demand(
          shownHolds === held && waits === own.length - held,
          () =>
            `session ${session} shows ${shownHolds} holds and ${waits} waits, and has ${held} and ${own.length - held}`,
        );
      }
    },
  };
}

function reported(lock: string, kind: number | undefined, entry: QueueEntry): ReportedAcquire {
  const { session, acquireIndex, token, parameters } = entry;
  return { session, lock, acquireIndex, token, request: requestOf(kind, parameters) };
}

function summary(lock: string, queue: readonly QueueEntry[]): Omit<LockSummary, 'kind'> {
  const holders = queue.filter(({ token }) => token !== 0);
  // A line of the listing has one of them.
  return { lock, holders: holders.slice(0, 1), waiters: queue.length - holders.length };
}

/** The listing as pages of one lock each. */
function pages({ query }: Step, most: number): LockSummary[] {
  const listed: LockSummary[] = [];
  for (let page = 0; page <= most; page += 1) {
    const answer = query({ type: 'locks', prefix: '', after: listed.at(-1)?.lock ?? '', limit: 1 });
    if (answer.type !== 'locks') break;
    listed.push(...answer.locks);
    if (!answer.more) break;
  }
  return listed;
}

function verified({ query }: Step, lock: string, acquireIndex: number, token: number): void {
  const answer = query({ type: 'verify', lock, acquireIndex });
  demand(
    answer.type === 'verify' && answer.token === token,
    () => `verify of acquire ${acquireIndex} of lock ${lock}, token ${token}, was answered ${JSON.stringify(answer)}`,
  );
}
