/** create, set and delete do what ZooKeeper's would, their answers say so, and the queries show it, every field of a stat included. */

import { isReservedPath, type Command, type Reply } from '@holdfast/protocol';
import { VERSIONS } from '@holdfast/state';

import { LIMITS } from '../limits.ts';
import { TreeModel, type Occasion, type Outcome } from '../models/tree-model.ts';
import { difference } from '../observation/difference.ts';
import { appliedCommand, errorCode, outputsOf, type Step } from '../observation/step.ts';
import type { View } from '../observation/view.ts';
import { PATHS } from '../script/pools.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

export function nodesFollowCommands(): StatePromise {
  const tree = new TreeModel();
  let stamp = 0;
  return {
    name: 'nodes are what the commands made of them',
    observe(step) {
      const { input, index, changes, after, before } = step;
      if (input.type !== 'noop' && input.type !== 'unsupported') stamp = Math.max(stamp, step.stamp);
      const applied = appliedCommand(step);
      if (applied !== undefined) {
        const nodesLeft = LIMITS.maxNodes - before.counts.nodes;
        const bytesLeft = LIMITS.maxTreeDataBytes - before.counts.dataBytes;
        const occasion = { index, stamp, session: applied.session, nodesLeft, bytesLeft };
        const outcome = exists(applied.command, before) ? apply(tree, applied.command, occasion) : UNSUPPORTED;
        if (outcome !== undefined) answered(tree, applied.command, applied.reply, outcome);
      }
      for (const session of losing(step)) tree.endSession(session, index, LIMITS.maxNodesPerEnd);
      for (const change of changes) if (change.type === 'ended') tree.endSession(change.session, index);
      // Other promises see to it that what changes nothing shows nothing new.
      if (applied === undefined && changes.length === 0 && losing(step).length === 0) return;
      shown(tree, after);
      for (const path of PATHS) existing(tree, path, step);
      const own = (session: number): number =>
        [...tree.nodes.values()].filter((node) => node.ephemeralOwner === session).length;
      for (const { session, ephemerals } of after.summaries) {
        demand(
          ephemerals === own(session),
          () => `session ${session} shows ${ephemerals} ephemeral nodes, and has ${own(session)}`,
        );
      }
      if (input.type === 'request' && isReservedByMistake(step))
        demand(false, () => `a reserved node was made, changed or deleted by ${input.name ?? 'an unknown command'}`);
    },
  };
}

/** Those that end over several entries, and lose some of their nodes in this one. */
function losing({ input, before, outputs }: Step): readonly number[] {
  const begun = outputsOf(outputs, 'sessionEnding').map(({ session }) => session);
  const session = input.type === 'continue' ? input.command?.session : undefined;
  return session !== undefined && before.sessions.get(session)?.ending === true ? [session] : begun;
}

const UNSUPPORTED: Outcome = { error: 'UNSUPPORTED' };

/** In the state version of the view, by which the command is applied. */
function exists({ type }: Command, { stateVersion }: View): boolean {
  return VERSIONS.commands[type] <= stateVersion;
}

/** Undefined for what does not concern nodes that are not reserved. */
function apply(tree: TreeModel, command: Command, occasion: Occasion): Outcome | undefined {
  switch (command.type) {
    case 'create':
      return tree.create(command, occasion);
    case 'set':
      return tree.set(command, occasion);
    case 'delete':
      return isReservedPath(command.path) ? undefined : tree.delete(command, occasion);
    case 'attach':
    case 'acquire':
    case 'release':
    case 'cancel':
    case 'closeSession':
    case 'expireSession':
    case 'refuse':
    case 'raiseStateVersion':
    case 'continueEnd':
    case 'transaction':
    case 'createNode':
    case 'setNode':
    case 'removeUnused':
      return undefined;
  }
}

function answered(tree: TreeModel, command: Command, reply: Reply, outcome: Outcome): void {
  if ('error' in outcome) {
    return demand(
      errorCode(reply) === outcome.error,
      () => `${JSON.stringify(command)} was to be answered ${outcome.error}, and was answered ${JSON.stringify(reply)}`,
    );
  }
  const { path } = outcome;
  const node = tree.nodes.get(path);
  const stat = node === undefined ? undefined : tree.stat(path, node);
  const expected =
    command.type === 'create'
      ? { type: 'created', path, stat }
      : command.type === 'set'
        ? { type: 'changed', stat }
        : { type: 'done' };
  const wrong = difference(reply, expected);
  demand(wrong === undefined, () => `the answer to ${command.type} ${path}:${wrong}`);
}

function shown(tree: TreeModel, view: View): void {
  let bytes = 0;
  for (const [path, node] of tree.nodes) {
    const seen = view.nodes.get(path);
    const wrong = difference(seen?.stat, tree.stat(path, node)) ?? difference(seen?.data, node.data);
    demand(wrong === undefined, () => `${path}:${wrong}`);
    bytes += node.data.length;
  }
  const others = [...view.nodes.keys()].find((path) => !isReservedPath(path) && !tree.nodes.has(path));
  demand(others === undefined, () => `${others} is there, and nothing has made it`);
  demand(
    view.counts.dataBytes === bytes,
    () => `${view.counts.dataBytes} bytes of data are counted, and ${bytes} are there`,
  );
}

/** `exists` tells the same, also of what is not there. */
function existing(tree: TreeModel, path: string, { query }: Step): void {
  const node = tree.nodes.get(path);
  const expected = { type: 'exists', stat: node === undefined ? undefined : tree.stat(path, node) };
  const wrong = difference(query({ type: 'exists', path }), expected);
  demand(wrong === undefined, () => `the answer to exists ${path}:${wrong}`);
}

/** Only acquire makes reserved nodes, nothing gives them data, and of those that stay only queue nodes are deleted. */
function isReservedByMistake(step: Step): boolean {
  const applied = appliedCommand(step);
  if (applied?.command.type === 'delete' && isReservedPath(applied.command.path)) {
    const node = step.before.nodes.get(applied.command.path);
    if (node?.stat.ephemeralOwner === 0 && errorCode(applied.reply) !== 'RESERVED_PATH') return true;
  }
  return [...step.after.nodes].some(([path, { data }]) => isReservedPath(path) && data !== '');
}
