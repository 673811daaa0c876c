/**
 * acquire → install → read → write, on SQLite. Drivers of SQLite are synchronous, and so is a body: a connection is shared by the whole program,
 * and what the program did while a body waits would be in its transaction. What is waited for, without standing still, is the lock for writing.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import { checkBody, invalid, withLimit, type Cutoff } from '@holdfast/fence/adapter';
import { checkDatabase, forgetStatements, rowOf, statementOf, type SqliteDatabase } from './database.ts';
import { asFenceError, during, isBusy } from './errors.ts';
import { floorIn } from './schema.ts';
import { STATEMENTS } from './sql.ts';

export interface FenceOptions {
  /** Ends the call before its body begins, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a call waits for other connections and processes that write; then it rejects with TIMEOUT, and nothing was written.
   * @default 30,000
   */
  readonly waitMs?: number | undefined;
}

const LIMIT = { name: 'waitMs', defaultMs: 30_000 } as const;
/** The longest pause between two attempts to write, in milliseconds. */
const MAX_PAUSE_MS = 20;

/** The statements that make a fence. Tests put broken ones in their place. */
export interface Steps {
  /** The floor, which stays as it is until the transaction ends. */
  readonly look: (database: SqliteDatabase, scope: string, holder: Holder) => number;
  readonly raise: (database: SqliteDatabase, scope: string, floor: number) => void;
}

export const STEPS: Steps = {
  look: floorIn,
  raise: (database, scope, floor) => void database.prepare(STATEMENTS.raise).run(scope, floor),
};

/**
 * Runs `body` in a transaction that is only committed if no newer holder has been at the scope, and resolves with what it returns. The first
 * call of a holder installs its token, by a transaction before that.
 *
 * **The body is synchronous**, and runs with the lock for writing: nothing else in the process goes on meanwhile, nor does any other writer.
 * It must not end the transaction. What it throws rolls back and is passed on.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted
 * before the body began; TIMEOUT after `waitMs` of others who write; RESOURCE for what SQLite refuses (`indeterminate` where a sync of the commit
 * failed); CONNECTION where the database is closed; SCHEMA_MISSING, SCHEMA_VERSION, INVALID_ARGUMENT; and with what `holder.assertHeld` throws.
 *
 * @example
 * await fence(database, 'jobs', held, (tx) => {
 *   const { id } = tx.prepare("SELECT id FROM jobs WHERE state = 'ready'").get();
 *   tx.prepare("UPDATE jobs SET state = 'running' WHERE id = ?").run(id);
 * });
 */
export async function fence<Database extends SqliteDatabase, Result>(
  database: Database,
  scope: string,
  holder: Holder,
  body: (tx: Database) => Result,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy({ steps: STEPS, database, scope, holder, options }, body);
}

/**
 * Installs the holder's token: from now on no older holder commits anything in the scope. `fence` does it by itself; call it before reads
 * that are made elsewhere than in a body. Rejects as {@link fence} does.
 *
 * @example
 * await install(database, 'jobs', held);
 */
export async function install(
  database: SqliteDatabase,
  scope: string,
  holder: Holder,
  options: FenceOptions = {},
): Promise<void> {
  await installBy({ steps: STEPS, database, scope, holder, options });
}

interface CallOf<Database extends SqliteDatabase> {
  readonly steps: Steps;
  readonly database: Database;
  readonly scope: string;
  readonly holder: Holder;
  readonly options: FenceOptions;
}

/** @internal */
export async function installBy(of: CallOf<SqliteDatabase>): Promise<void> {
  await withCall('install', of, (write) => write(() => installIn(of)));
}

/** @internal */
export async function fenceBy<Database extends SqliteDatabase, Result>(
  of: CallOf<Database>,
  body: (tx: Database) => Result,
): Promise<Result> {
  checkBody(body);
  return await withCall('fence', of, async (write) => {
    for (;;) {
      const outcome = await write(() => (installIn(of) ? undefined : { result: perform(of, body) }));
      if (outcome !== undefined) return outcome.result;
    }
  });
}

type Write = <Outcome>(work: () => Outcome) => Promise<Outcome>;

async function withCall<Result>(
  what: 'fence' | 'install',
  of: CallOf<SqliteDatabase>,
  run: (write: Write) => Promise<Result>,
): Promise<Result> {
  return await withLimit(what, LIMIT, of, (cutoff, waitMs) => {
    checkDatabase(of.database);
    const endsAt = performance.now() + waitMs;
    return run((work) => written(of.database, cutoff, endsAt, work));
  });
}

/**
 * Does the work in a transaction that has the lock for writing, in one step with its beginning: in between, another call on the connection
 * would be in it. Who waits for others does so without the driver, in whose wait the whole process stands still.
 */
async function written<Outcome>(
  database: SqliteDatabase,
  cutoff: Cutoff,
  endsAt: number,
  work: () => Outcome,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    const error = begin(database);
    if (error === undefined) return inTransaction(database, work);
    if (!isBusy(error) || performance.now() >= endsAt) throw asFenceError(error, 'begin');
    await cutoff.race(delay(Math.random() * Math.min(MAX_PAUSE_MS, attempt)));
  }
}

/** All of it is one call of the driver, but for the wait of the connection, which the application may set at any time. @returns what it failed with */
function begin(database: SqliteDatabase): unknown {
  const timeoutMs = during('begin', () => Number(rowOf(statementOf(database, STATEMENTS.timeout))['timeout'] ?? 0));
  if (timeoutMs === 0) return attemptOf(() => database.exec(STATEMENTS.begin));
  const setBack = `PRAGMA busy_timeout = ${timeoutMs}`;
  const error = attemptOf(() => database.exec(`PRAGMA busy_timeout = 0; ${STATEMENTS.begin}; ${setBack}`));
  if (error !== undefined) attemptOf(() => database.exec(setBack));
  return error;
}

/** Commits what the work has written, or rolls it back. */
function inTransaction<Result>(database: SqliteDatabase, work: () => Result): Result {
  try {
    const result = work();
    during('commit', () => database.exec(STATEMENTS.commit));
    return result;
  } catch (error) {
    // Where it has ended already there is nothing to roll back. Or the body has closed the database, which statements would hold open.
    if (attemptOf(() => database.exec('ROLLBACK')) !== undefined) forgetStatements(database);
    throw error;
  }
}

/** @returns whether it has raised the floor */
function installIn({ steps, database, scope, holder }: CallOf<SqliteDatabase>): boolean {
  return during('install', () => {
    const [seen, floor] = [steps.look(database, scope, holder), floorOf(holder)];
    if (holder.token < seen) throw new StaleTokenError(scope, holder.token, seen);
    if (seen >= floor) return false;
    steps.raise(database, scope, floor);
    return true;
  });
}

function perform<Database extends SqliteDatabase, Result>(
  { database, holder }: CallOf<Database>,
  body: (tx: Database) => Result,
): Result {
  const result = body(database);
  if (typeof result === 'object' && result !== null && 'then' in result) {
    // It is the answer to a mistake, and nobody's failure.
    void Promise.resolve(result).catch(() => undefined);
    throw invalid('the body gave a promise: it is synchronous, so await what is needed before the call of fence');
  }
  holder.assertHeld?.();
  if (holder.signal?.aborted === true) {
    const text = 'the call was ended by a signal before it committed; nothing was written';
    throw new FenceError('ABORTED', text, { cause: holder.signal.reason });
  }
  return result;
}

/** @returns what it failed with */
function attemptOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}
