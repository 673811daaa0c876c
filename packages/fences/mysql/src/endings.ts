/**
 * How statements of a body end a transaction. MySQL ends one in many ways without an error (DDL, a deadlock, LOCK TABLES), and what is sent
 * afterwards would be fenced no more. So what is known to do it is refused, and the answers to the others are watched.
 */

import { FenceError } from '@holdfast/fence';
import { messageOf } from '@holdfast/fence/adapter';
import { shown, statementsThatBegin, type Borrowed } from '@holdfast/fence-sql';
import type { PoolConnection } from 'mysql2/promise';
import { DEADLOCK, numberOf } from './errors.ts';

/** Bits of a server's status. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

export const GUARDED = {
  sending: /^(query|execute)$/,
  ending: /^(beginTransaction|commit|rollback|release|destroy|end|reset|changeUser)$/,
  endingStatements: statementsThatBegin(
    String.raw`(?:begin|commit|rollback(?!\s+(?:work\s+)?to\b)|start\s+transaction|xa|lock\s+tables?|unlock\s+tables?)\b`,
  ),
};
/** Those that end no transaction where they fail. DDL does. */
const HARMLESS_STATEMENTS = statementsThatBegin(
  String.raw`\(*(?:select|insert|update|delete|replace|with|values|do|set|show|explain|describe|savepoint|release|rollback)\b`,
);
/** Those whose answer is rows. Of others with rows (ANALYZE TABLE) the server commits, and rows do not say so. */
const READING_STATEMENTS = statementsThatBegin(String.raw`(?:call|execute|table|check|checksum)\b`);
/** Where the server rolls back all of a transaction: deadlocks, locks that were waited for (as `innodb_rollback_on_timeout` says), no room for locks. */
const ROLLED_BACK = [DEADLOCK, 1205, 1206];

/** Behind the end of the transaction nothing is sent. */
export async function watched(send: () => unknown, text: string, on: Borrowed<PoolConnection>): Promise<unknown> {
  if (on.lost instanceof FenceError) throw on.lost;
  try {
    const answer = await send();
    if (hasEnded(answer, text)) on.lose(endedBy(text));
    return answer;
  } catch (error) {
    const ended = endedByFailure(text, error);
    if (ended !== undefined) on.lose(ended);
    throw error;
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

function endedBy(text: string): FenceError {
  const what = `${shown(text)} has ended the transaction, as DDL does: what came before it is committed, and nothing after it`;
  return new FenceError('RESOURCE', `${what}; send such statements outside of the body`, { indeterminate: true });
}

function endedByFailure(text: string, error: unknown): FenceError | undefined {
  const number = numberOf(error);
  if (ROLLED_BACK.includes(number)) {
    const what = `${shown(text)} failed, the database rolled back, and nothing was written: ${messageOf(error)}`;
    return new FenceError('RESOURCE', `${what}; call fence again`, { cause: error, retryable: true });
  }
  return number === 0 || HARMLESS_STATEMENTS.test(text) ? undefined : endedBy(text);
}
