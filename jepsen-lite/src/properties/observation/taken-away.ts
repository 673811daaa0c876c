/** Which waits and holds an entry takes away, whoever has them: an operator's, by name, by their queue nodes, or when a request's time is over. */

import { isReservedPath } from '@holdfast/protocol';

import { appliedCommand, outputsOf, type Step } from './step.ts';

/** Acquire indexes, in the order of what took them away. */
export function takenAway(step: Pick<Step, 'input' | 'before' | 'outputs'>): readonly number[] {
  if (step.input.type === 'enforce') {
    const { lock = '', acquireIndex = 0, request = 0 } = step.input.command ?? {};
    const hold = step.before.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex);
    const present = hold?.releaseRequest;
    return present?.index === request && present.revokes ? [acquireIndex] : [];
  }
  const applied = appliedCommand(step);
  if (applied === undefined) return [];
  const { command, reply } = applied;
  const byNode = (path: string): readonly number[] => {
    const stat = isReservedPath(path) ? step.before.nodes.get(path)?.stat : undefined;
    return stat === undefined || stat.ephemeralOwner === 0 ? [] : [stat.czxid];
  };
  if (command.type === 'transaction') {
    if (reply.type !== 'transaction') return [];
    return command.operations.flatMap((operation) => (operation.type === 'delete' ? byNode(operation.path) : []));
  }
  if (command.type === 'revoke') {
    // By the same command an operator ends a delay.
    const isDelay = step.before.delays.get(command.lock)?.index === command.acquireIndex;
    return reply.type === 'revoked' && !isDelay ? [command.acquireIndex] : [];
  }
  return reply.type === 'done' && command.type === 'delete' ? byNode(command.path) : [];
}

/** Acquire indexes of waits that the entry has ended to break deadlocks; its own acquire, which may be one, was never there. */
export function endedInDeadlock({ outputs }: Pick<Step, 'outputs'>): readonly number[] {
  return outputsOf(outputs, 'lost')
    .filter(({ reason }) => reason === 'deadlock')
    .map(({ acquireIndex }) => acquireIndex);
}
