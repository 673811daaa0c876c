/** Transactions: operations on nodes that are all done, at one index, or not at all. */

import { isSequential, MAX_TRANSACTION_BYTES, sequenceSuffix, type Operation } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, LimitExceededError, TransactionFailedError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { errorFromServer } from '../server-error.ts';
import type { CallOptions } from '../session/call.ts';
import { callEncoded, encoded } from '../session/channels/request-pipeline.ts';
import type { Session } from '../session/session.ts';
import {
  checkPath,
  dataOf,
  kindOf,
  versionOf,
  type NodeData,
  type NodeKindOptions,
  type NodeVersionOption,
} from './node-arguments.ts';

/**
 * One operation of a transaction. Made by {@link check}, {@link create}, {@link set} and {@link remove}, which check their arguments.
 *
 * @example
 * const operations: TransactionOperation[] = [check('/config'), set('/config', 'new')];
 * await client.nodes.transaction(operations);
 */
export class TransactionOperation {
  /** @internal */
  readonly operation: Operation;

  /** @internal */
  constructor(operation: Operation) {
    this.operation = operation;
  }
}

const VERSION_OPTION: Record<keyof NodeVersionOption, true> = { version: true };
const KIND_OPTIONS: Record<keyof NodeKindOptions, true> = {
  ephemeral: true,
  sequential: true,
  container: true,
  ttlMs: true,
};

/**
 * Changes nothing: the transaction fails unless the node exists, and has that version. Also for what is reserved: a lock's queue node
 * exists for as long as its session holds the lock, or waits for it.
 *
 * @example
 * await client.nodes.transaction([check('/config', { version: 3 }), set('/config', 'new')]);
 */
export function check(path: string, options: NodeVersionOption = {}): TransactionOperation {
  checkOptionNames('check', options, VERSION_OPTION);
  checkPath(path);
  return new TransactionOperation({ type: 'check', path, version: versionOf(options) });
}

/**
 * As `nodes.create`.
 *
 * @example
 * await client.nodes.transaction([create('/log/', 'changed', { sequential: true })]);
 */
export function create(path: string, data: NodeData = '', options: NodeKindOptions = {}): TransactionOperation {
  checkOptionNames('create', options, KIND_OPTIONS);
  checkPath(path, options.sequential);
  const { mode, ttlMs } = kindOf(options);
  return new TransactionOperation({ type: 'create', path, data: listOf(data), mode, ttlMs });
}

/**
 * As `nodes.set`.
 *
 * @example
 * await client.nodes.transaction([set('/config', 'new', { version: 3 })]);
 */
export function set(path: string, data: NodeData, options: NodeVersionOption = {}): TransactionOperation {
  checkOptionNames('set', options, VERSION_OPTION);
  checkPath(path);
  return new TransactionOperation({ type: 'set', path, data: listOf(data), version: versionOf(options) });
}

/**
 * As `nodes.delete`, whose name is a reserved word where this is imported.
 *
 * @example
 * await client.nodes.transaction([check('/config', { version: 3 }), remove('/config')]);
 */
export function remove(path: string, options: NodeVersionOption = {}): TransactionOperation {
  checkOptionNames('remove', options, VERSION_OPTION);
  checkPath(path);
  return new TransactionOperation({ type: 'delete', path, version: versionOf(options) });
}

/**
 * What an operation did; in the order of the operations.
 *
 * @example
 * const { results } = await client.nodes.transaction([set('/config', 'new')]);
 * console.log(results[0]?.type);
 */
export type TransactionResult =
  | { readonly type: 'check'; readonly path: string }
  /** `path`: of the new node, a sequence number included. */
  | { readonly type: 'create'; readonly path: string }
  /** `version`: of the data that were set. */
  | { readonly type: 'set'; readonly path: string; readonly version: number }
  | { readonly type: 'remove'; readonly path: string };

/**
 * What a transaction has done.
 *
 * @example
 * const { results } = await client.nodes.transaction([set('/config', 'new')]);
 */
export interface TransactionOutcome {
  /** Of the log entry that did it all: czxid of what was created, mzxid of what was created or set. */
  readonly index: number;
  readonly results: readonly TransactionResult[];
}

/** @internal */
export async function callTransaction(
  session: Session,
  operations: readonly TransactionOperation[],
  options: CallOptions,
): Promise<TransactionOutcome> {
  const asked = operationsOf(operations);
  const command = encoded({ type: 'transaction', operations: asked });
  const { length } = command.payload;
  if (length > MAX_TRANSACTION_BYTES) {
    throw new LimitExceededError(
      `a transaction of ${length} bytes is over the limit of ${MAX_TRANSACTION_BYTES}; make several of it`,
    );
  }
  const what = `transaction of ${asked.length} operations`;
  const reply = await callEncoded(session.commands, command, what, options);
  if (reply.type === 'transactionFailed') throw failure(asked, reply);
  if (reply.type !== 'transaction' || reply.results.length !== asked.length) {
    const problem = `${what} was answered with ${reply.type}; client and server do not match`;
    throw new HoldfastError(problem, { code: 'UNSUPPORTED' });
  }
  return { index: reply.index, results: asked.map((operation, at) => resultOf(operation, reply.results[at] ?? 0)) };
}

/** @throws InvalidArgumentError */
function operationsOf(operations: readonly TransactionOperation[]): Operation[] {
  if (!Array.isArray(operations))
    throw new InvalidArgumentError('transaction takes a list of operations, made by check, create, set and remove');
  return operations.map((each: unknown, at) => {
    if (each instanceof TransactionOperation) return each.operation;
    throw new InvalidArgumentError(
      `operation ${at} of the transaction is ${typeof each}, and none; make it by check, create, set or remove`,
    );
  });
}

function failure(
  asked: readonly Operation[],
  { operation, code, message }: { operation: number; code: Parameters<typeof errorFromServer>[0]; message: string },
): TransactionFailedError {
  const { type, path } = asked[operation] ?? { type: 'check', path: '' };
  const name = `${type === 'delete' ? 'remove' : type} ${path}`;
  const cause = errorFromServer(code, `${name}: ${message}`);
  const text = `nothing was done, because of operation ${operation} of the transaction, ${name}: ${message}`;
  return new TransactionFailedError(text, { code, operation, path, cause });
}

function resultOf(operation: Operation, result: number): TransactionResult {
  const { path } = operation;
  switch (operation.type) {
    case 'check':
      return { type: 'check', path };
    case 'create':
      return { type: 'create', path: isSequential(operation.mode) ? path + sequenceSuffix(result) : path };
    case 'set':
      return { type: 'set', path, version: result };
    case 'delete':
      return { type: 'remove', path };
  }
}

function listOf(data: NodeData): readonly Uint8Array[] {
  const bytes = dataOf(data);
  return bytes === undefined ? [] : [bytes];
}
