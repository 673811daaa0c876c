/**
 * The connection as a body has it: all that mysql2 offers, except what would end the transaction. MySQL ends one in many ways without an
 * error (DDL, a deadlock, LOCK TABLES), and what is sent afterwards would be fenced no more. So the answers are watched.
 */

import { FenceError } from '@holdfast/fence';
import type { PoolConnection } from 'mysql2/promise';
import { DEADLOCK, messageOf, numberOf } from './errors.ts';
import { invalid } from './options.ts';

/** Bits of a server's status. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

/** Of PoolConnection. */
const ENDING_METHODS: ReadonlySet<PropertyKey> = new Set([
  'beginTransaction',
  'commit',
  'rollback',
  'release',
  'destroy',
  'end',
  'reset',
  'changeUser',
]);
const COMMENTS = String.raw`^(?:\s|/\*[^!][^]*?\*/|--\s.*\n|#.*\n)*`;
const ENDING_STATEMENTS = new RegExp(
  `${COMMENTS}(?:begin|commit|rollback(?!\\s+(?:work\\s+)?to\\b)|start\\s+transaction|xa|lock\\s+tables?|unlock\\s+tables?)\\b`,
  'i',
);
/** Those that end no transaction where they fail. DDL does. */
const HARMLESS_STATEMENTS = new RegExp(
  `${COMMENTS}\\(*(?:select|insert|update|delete|replace|with|values|do|set|show|explain|describe|savepoint|release|rollback)\\b`,
  'i',
);
/** Those whose answer is rows. Of others with rows (ANALYZE TABLE) the server commits, and rows do not say so. */
const READING_STATEMENTS = new RegExp(`${COMMENTS}(?:call|execute|table|check|checksum)\\b`, 'i');
/** Where the server rolls back all of a transaction: deadlocks, locks that were waited for (as `innodb_rollback_on_timeout` says), no room for locks. */
const ROLLED_BACK = [DEADLOCK, 1205, 1206];

export class Transaction {
  readonly tx: PoolConnection;
  #over = false;
  #ended: FenceError | undefined;

  constructor(connection: PoolConnection) {
    const watch = async (method: unknown, args: readonly unknown[]): Promise<unknown> =>
      await this.#send(method, connection, args);
    this.tx = new Proxy(connection, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'query' || name === 'execute') return (...args: readonly unknown[]) => watch(value, args);
        return ENDING_METHODS.has(name) ? () => refuse(`tx.${String(name)}()`) : value.bind(target);
      },
    });
  }

  /** Set where something in the body has ended the transaction. */
  get ended(): FenceError | undefined {
    return this.#ended;
  }

  /** From now on nothing more is sent. */
  close(): void {
    this.#over = true;
  }

  async #send(method: unknown, connection: PoolConnection, args: readonly unknown[]): Promise<unknown> {
    const text = textOf(args[0]);
    if (this.#over) {
      throw invalid(`the transaction is over, and ${shown(text)} was not sent: await every statement in the body`);
    }
    if (this.#ended !== undefined) throw this.#ended;
    if (ENDING_STATEMENTS.test(text)) refuse(shown(text));
    try {
      const answer: unknown = await Reflect.apply(
        method as (...values: readonly unknown[]) => unknown,
        connection,
        args,
      );
      if (hasEnded(answer, text)) this.#ended ??= endedBy(text);
      return answer;
    } catch (error) {
      this.#ended ??= endedByFailure(text, error);
      throw error;
    }
  }
}

/** Whether a transaction is open on the connection, or undefined where the answer is rows, which do not say. */
export function isOpen(answer: unknown): boolean | undefined {
  const [result] = Array.isArray(answer) ? (answer as readonly unknown[]) : [];
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  if (typeof last !== 'object' || last === null || !('serverStatus' in last)) return undefined;
  const status = Number(last.serverStatus);
  return (status & IN_TRANSACTION) !== 0 && (status & AUTOCOMMIT) === 0;
}

function hasEnded(answer: unknown, text: string): boolean {
  return !(isOpen(answer) ?? (HARMLESS_STATEMENTS.test(text) || READING_STATEMENTS.test(text)));
}

function refuse(what: string): never {
  throw invalid(`${what} would end the transaction: let the body return to commit, or throw to roll back`);
}

function endedBy(text: string): FenceError {
  return new FenceError(
    'RESOURCE',
    `${shown(text)} has ended the transaction, as DDL does: what came before it is committed, and nothing after it; ` +
      'send such statements outside of the body',
    { indeterminate: true },
  );
}

function endedByFailure(text: string, error: unknown): FenceError | undefined {
  const number = numberOf(error);
  if (ROLLED_BACK.includes(number)) {
    const what = `${shown(text)} failed, the database rolled back, and nothing was written: ${messageOf(error)}`;
    return new FenceError('RESOURCE', `${what}; call fence again`, { cause: error, retryable: true });
  }
  return number === 0 || HARMLESS_STATEMENTS.test(text) ? undefined : endedBy(text);
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  return typeof query === 'object' && query !== null && 'sql' in query ? String(query.sql) : '';
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
