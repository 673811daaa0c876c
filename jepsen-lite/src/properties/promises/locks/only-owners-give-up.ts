/**
 * A wait or hold goes by release or cancel of its own session, by the end of that session, or by an operator who revokes it or deletes its
 * node; and each of these does end it, at all of its locks. Which waits end in a deadlock is looked at by another promise.
 */

import { lockNameProblem, type QueueEntry } from '@holdfast/protocol';

import { appliedCommand, errorCode, type Step } from '../../observation/step.ts';
import { endedInDeadlock, takenAway } from '../../observation/taken-away.ts';
import { allAcquires } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

/** Since which state version an acquire can be revoked by name. */
const SINCE = 4;

type Acquire = QueueEntry & { readonly lock: string };

export function onlyOwnersGiveUp(): StatePromise {
  return {
    name: 'only its own session releases a hold',
    observe(step) {
      const { before, after } = step;
      const taken = takenAway(step);
      const broken = endedInDeadlock(step);
      const gone = allAcquires(before).filter(
        ({ lock, acquireIndex }) =>
          !broken.includes(acquireIndex) &&
          !after.queues.get(lock)?.some((entry) => entry.acquireIndex === acquireIndex),
      );
      for (const acquire of gone) {
        demand(
          taken.includes(acquire.acquireIndex) || isExplained(step, acquire),
          () =>
            `acquire ${acquire.acquireIndex} of lock ${acquire.lock} went, though its session ${acquire.session} lives and has not given it up`,
        );
      }
      const left = allAcquires(after).find(({ acquireIndex }) => taken.includes(acquireIndex));
      demand(left === undefined, () => `acquire ${left?.acquireIndex} is still at lock ${left?.lock}, and was revoked`);
      givenUp(step, gone);
      revoked(step);
    },
  };
}

function givenUp(step: Step, gone: readonly Acquire[]): void {
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'release' && applied?.command.type !== 'cancel') return;
  const { command, session, reply } = applied;
  const named = acquireAt(step, command);
  const own = named?.session === session ? named : undefined;
  const ends = own !== undefined && (command.type === 'cancel' || own.token !== 0);
  const shown =
    command.type === 'release' ? reply.type === 'done' : reply.type === 'cancelled' && reply.token === own?.token;
  // It goes at each of its locks, and nothing else does.
  const whole = gone.length > 0 && gone.every(({ acquireIndex }) => acquireIndex === command.acquireIndex);
  demand(
    ends ? shown && whole : errorCode(reply) === 'NOT_HELD',
    () =>
      `${command.type} by session ${session} of acquire ${command.acquireIndex} (${own === undefined ? 'not its own' : `token ${own.token}`}) was answered ${JSON.stringify(reply)}`,
  );
}

/** Whoever has it; and only what is there. */
function revoked(step: Step): void {
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'revoke') return;
  const { command, reply } = applied;
  const refusal =
    step.before.stateVersion < SINCE
      ? 'UNSUPPORTED'
      : lockNameProblem(command.lock) !== undefined
        ? 'INVALID_ARGUMENT'
        : acquireAt(step, command) === undefined && !isDelay(step, command)
          ? 'NOT_FOUND'
          : undefined;
  demand(
    refusal === undefined ? reply.type === 'revoked' && reply.index === step.index : errorCode(reply) === refusal,
    () => `revoke of acquire ${command.acquireIndex} of lock ${command.lock} was answered ${JSON.stringify(reply)}`,
  );
}

/** By the same command an operator ends a delay, which is named by its index. */
function isDelay(
  { before }: Step,
  { lock, acquireIndex }: { readonly lock: string; readonly acquireIndex: number },
): boolean {
  return before.delays.get(lock)?.index === acquireIndex;
}

/** By the name of any of its locks. */
function acquireAt(
  { before }: Step,
  { lock, acquireIndex }: { readonly lock: string; readonly acquireIndex: number },
): QueueEntry | undefined {
  return before.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex);
}

function isExplained(step: Step, acquire: Acquire): boolean {
  // It has ended, or is over and ends with the last of its nodes.
  if (step.after.sessions.get(acquire.session)?.ending !== false) return true;
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'release' && applied?.command.type !== 'cancel') return false;
  const { session, command } = applied;
  if (session !== acquire.session || command.acquireIndex !== acquire.acquireIndex) return false;
  return acquireAt(step, command) !== undefined;
}
