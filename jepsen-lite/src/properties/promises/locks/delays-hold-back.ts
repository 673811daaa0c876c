/**
 * A hold that asked for a delay delays each of its locks when it is lost, by the end of its session or by whoever takes it away, and not when its
 * owner gives it back. Until that delay is over, which the leader or an operator says by its index, nobody is granted the lock.
 */

import type { LockDelay } from '@holdfast/protocol';

import { difference } from '../../observation/difference.ts';
import { appliedCommand, outputsOf, type Step } from '../../observation/step.ts';
import { allAcquires } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function delaysHoldBack(): StatePromise {
  const delays = new Map<string, LockDelay>();
  let stamp = 0;
  return {
    name: 'a lock whose holder was lost is granted to nobody until its delay is over',
    observe(step) {
      const { input, after, changes } = step;
      if (input.type !== 'noop' && input.type !== 'unsupported') stamp = Math.max(stamp, step.stamp);
      const ended = endedBy(step, delays);
      for (const lock of ended) delays.delete(lock);
      const lost = lostHolds(step);
      for (const { lock, token, lockDelayMs } of lost) {
        const before = delays.get(lock);
        delays.set(lock, {
          index: step.index,
          delayMs: Math.max(lockDelayMs, before?.delayMs ?? 0),
          since: stamp,
          token: Math.max(token, before?.token ?? 0),
        });
      }
      const inOrder = new Map([...delays].sort(([left], [right]) => (left < right ? -1 : 1)));
      const wrong = difference(new Map(after.delays), inOrder) ?? reported(step, lost, delays, ended);
      demand(wrong === undefined, () => `of the delays of locks is shown:${wrong}`);
      for (const change of changes) {
        if ((change.type !== 'granted' && change.type !== 'enqueued') || change.token === 0) continue;
        const { lock, acquireIndex } = change;
        demand(!delays.has(lock), () => `lock ${lock}, which is delayed, was granted to acquire ${acquireIndex}`);
      }
    },
  };
}

interface LostHold {
  readonly lock: string;
  readonly token: number;
  readonly lockDelayMs: number;
}

/** Holds with a delay that are gone, and not by their owners. */
function lostHolds(step: Step): readonly LostHold[] {
  return allAcquires(step.before).flatMap(({ lock, token, acquireIndex, session, lockDelayMs = 0 }) => {
    if (token === 0 || lockDelayMs === 0) return [];
    const stays = step.after.queues.get(lock)?.some((entry) => entry.acquireIndex === acquireIndex) === true;
    return stays || isGivenBack(step, session, acquireIndex) ? [] : [{ lock, token, lockDelayMs }];
  });
}

/** By its release, its cancel, or the close of its own session. */
function isGivenBack(step: Step, session: number, acquireIndex: number): boolean {
  const { input } = step;
  if (input.type !== 'request' || input.session !== session) return false;
  // One that ends over several entries is answered later.
  const command = input.command;
  if (command?.type === 'closeSession') return command.session === 0 || command.session === session;
  const applied = appliedCommand(step)?.command;
  return (applied?.type === 'release' || applied?.type === 'cancel') && applied.acquireIndex === acquireIndex;
}

/** The locks whose delay the entry ends: at most one. */
function endedBy(step: Step, delays: ReadonlyMap<string, LockDelay>): readonly string[] {
  const named = namedDelay(step);
  return named !== undefined && delays.get(named.lock)?.index === named.index ? [named.lock] : [];
}

function namedDelay(step: Step): { readonly lock: string; readonly index: number } | undefined {
  if (step.input.type === 'endDelay') return step.input.command;
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'revoke' || applied.reply.type !== 'revoked') return undefined;
  return { lock: applied.command.lock, index: applied.command.acquireIndex };
}

/** What the leader hears of it: each lock that is delayed once, with all that it needs to end the delay. */
function reported(
  step: Step,
  lost: readonly LostHold[],
  delays: ReadonlyMap<string, LockDelay>,
  ended: readonly string[],
): string | undefined {
  const names = [...new Set(lost.map(({ lock }) => lock))].sort();
  const begun = names.map((lock) => ({
    type: 'lockDelayed',
    lock,
    index: step.index,
    delayMs: delays.get(lock)?.delayMs,
  }));
  return (
    difference(outputsOf(step.outputs, 'lockDelayed'), begun) ??
    difference(
      outputsOf(step.outputs, 'lockDelayEnded').map(({ lock }) => lock),
      ended,
    )
  );
}
