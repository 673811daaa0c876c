/** Commands on nodes do what ZooKeeper's would, their answers say so, and the queries show it, every field of a stat included. */

import { isReservedPath, type Command, type Reply } from '@holdfast/protocol';
import { VERSIONS } from '@holdfast/state';

import { LIMITS } from '../limits.ts';
import { ReservedNodes } from '../models/reserved-nodes.ts';
import { TreeModel, type Occasion, type Outcome, type TransactionOutcome } from '../models/tree-model.ts';
import { difference } from '../observation/difference.ts';
import { appliedCommand, errorCode, outputsOf, type Step } from '../observation/step.ts';
import { allAcquires, type View } from '../observation/view.ts';
import { PATHS } from '../script/pools.ts';
import { delayBytes, requestBytes } from '../models/request-bytes.ts';
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
        const occasion = {
          index,
          stamp,
          session: applied.session,
          nodesLeft,
          bytesLeft,
          version: before.stateVersion,
        };
        if (applied.command.type === 'transaction' && exists(applied.command, before)) {
          const operations = applied.command.operations.filter((operation) => operation.type !== 'unknown');
          transacted(applied.reply, index, tree.transaction(operations, occasion, new ReservedNodes(before)));
        } else {
          const outcome = exists(applied.command, before) ? apply(tree, applied.command, occasion) : UNSUPPORTED;
          if (outcome !== undefined) answered(tree, applied.command, applied.reply, outcome);
        }
      }
      const isGone = (path: string): boolean => !after.nodes.has(path);
      if (input.type === 'unused') tree.removeUnused(input.command?.nodes ?? [], index);
      for (const session of losing(step)) tree.endSession(session, index, isGone, LIMITS.maxNodesPerEnd);
      for (const change of changes) if (change.type === 'ended') tree.endSession(change.session, index, isGone);
      // Other promises see to it that what changes nothing shows nothing new.
      const changed = changes.length > 0 || losing(step).length > 0 || input.type === 'unused';
      if (applied === undefined && !changed) return;
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
      return tree.create({ ...command, ttlMs: 0 }, occasion);
    case 'createNode':
      return tree.create({ ...command, data: command.data[0] }, occasion);
    case 'set':
      return tree.set(command, occasion);
    case 'setNode':
      return tree.set({ ...command, data: command.data[0] }, occasion);
    case 'delete':
      return isReservedPath(command.path) ? undefined : tree.delete(command, occasion);
    case 'attach':
    case 'acquire':
    case 'acquireSeveral':
    case 'acquireWith':
    case 'requestRelease':
    case 'release':
    case 'cancel':
    case 'downgrade':
    case 'revoke':
    case 'closeSession':
    case 'expireSession':
    case 'refuse':
    case 'raiseStateVersion':
    case 'continueEnd':
    case 'transaction':
    case 'removeUnused':
    case 'endLockDelay':
    case 'enforceRelease':
      return undefined;
  }
}

function transacted(reply: Reply, index: number, outcome: TransactionOutcome): void {
  const expected =
    'error' in outcome
      ? { type: 'transactionFailed', operation: outcome.operation, code: outcome.error }
      : { type: 'transaction', index, results: outcome.results };
  const { type } = reply;
  const said = type === 'transactionFailed' ? { type, operation: reply.operation, code: reply.code } : reply;
  const wrong = difference(said, expected);
  demand(wrong === undefined, () => `the answer to a transaction:${wrong}`);
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
    command.type === 'create' || command.type === 'createNode'
      ? { type: 'created', path, stat }
      : command.type === 'set' || command.type === 'setNode'
        ? { type: 'changed', stat }
        : { type: 'done' };
  const wrong = difference(reply, expected);
  demand(wrong === undefined, () => `the answer to ${command.type} ${path}:${wrong}`);
}

function shown(tree: TreeModel, view: View): void {
  const bytes = tree.bytes + requestBytes(allAcquires(view)) + delayBytes(view.delays.size);
  for (const [path, node] of tree.nodes) {
    const seen = view.nodes.get(path);
    const { noData, container, ttlMs } = node;
    const wrong =
      difference(seen?.stat, tree.stat(path, node)) ??
      difference(seen?.data, node.data) ??
      difference(seen?.traits, { noData, container, ttlMs });
    demand(wrong === undefined, () => `${path}:${wrong}`);
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
