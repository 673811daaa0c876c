/**
 * A wait or hold goes by release or cancel of its own session, by the end of that session, or by an operator who deletes its node;
 * and release and cancel by its own session do end it.
 */

import type { QueueEntry } from '@holdfast/protocol';

import { appliedCommand, errorCode, type Step } from '../../observation/step.ts';
import { allAcquires } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function onlyOwnersGiveUp(): StatePromise {
  return {
    name: 'only its own session releases a hold',
    observe(step) {
      const { before, after } = step;
      const applied = appliedCommand(step);
      const gone = allAcquires(before).filter(
        ({ lock, acquireIndex }) => !after.queues.get(lock)?.some((entry) => entry.acquireIndex === acquireIndex),
      );
      for (const acquire of gone) {
        demand(
          isExplained(step, acquire),
          () =>
            `acquire ${acquire.acquireIndex} of lock ${acquire.lock} went, though its session ${acquire.session} lives and has not given it up`,
        );
      }
      if (applied?.command.type !== 'release' && applied?.command.type !== 'cancel') return;
      const { command, session, reply } = applied;
      const own = before.queues
        .get(command.lock)
        ?.find((entry) => entry.acquireIndex === command.acquireIndex && entry.session === session);
      const ends = own !== undefined && (command.type === 'cancel' || own.token !== 0);
      const shown =
        command.type === 'release' ? reply.type === 'done' : reply.type === 'cancelled' && reply.token === own?.token;
      demand(
        ends ? shown && gone.length === 1 : errorCode(reply) === 'NOT_HELD',
        () =>
          `${command.type} by session ${session} of acquire ${command.acquireIndex} (${own === undefined ? 'not its own' : `token ${own.token}`}) was answered ${JSON.stringify(reply)}`,
      );
    },
  };
}

function isExplained(step: Step, acquire: QueueEntry & { readonly lock: string }): boolean {
  const { before, after } = step;
  // It has ended, or is over and ends with the last of its nodes.
  if (after.sessions.get(acquire.session)?.ending !== false) return true;
  const applied = appliedCommand(step);
  if (applied?.command.type === 'delete') {
    const stat = before.nodes.get(applied.command.path)?.stat;
    return stat?.czxid === acquire.acquireIndex && stat.ephemeralOwner === acquire.session;
  }
  if (applied?.command.type !== 'release' && applied?.command.type !== 'cancel') return false;
  const { session, command } = applied;
  return session === acquire.session && command.acquireIndex === acquire.acquireIndex && command.lock === acquire.lock;
}
