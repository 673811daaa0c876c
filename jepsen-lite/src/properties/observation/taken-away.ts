/** Which waits and holds an entry takes away, whoever has them: an operator's, by name or by their queue nodes. */

import { isReservedPath } from '@holdfast/protocol';

import { appliedCommand, type Step } from './step.ts';

/** Acquire indexes, in the order of what took them away. */
export function takenAway(step: Pick<Step, 'input' | 'before' | 'outputs'>): readonly number[] {
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
  if (command.type === 'revoke') return reply.type === 'revoked' ? [command.acquireIndex] : [];
  return command.type === 'delete' && reply.type === 'done' ? byNode(command.path) : [];
}
