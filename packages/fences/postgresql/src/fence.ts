/**
 * acquire → install → read → write, on PostgreSQL. The install is a transaction of its own, before the one of the body: so what the body reads
 * is later than everything that older holders have committed, at every level of isolation.
 */

import { FenceError, floorOf, type Holder } from '@holdfast/fence';
import type { Pool, PoolClient } from 'pg';
import { openConnection, type Connection } from './connection.ts';
import { Cutoff } from './cutoff.ts';
import { asBodyError, asFenceError, codeOf, isConnectionError, type Doing } from './errors.ts';
import {
  checkArguments,
  invalid,
  settingsOf,
  type FenceOptions,
  type InstallOptions,
  type Settings,
} from './options.ts';
import { SCHEMA_VERSION, STATES } from './sql.ts';

/** The two statements that make a fence. Tests put broken ones in their place. */
export interface Statements {
  /** $1 the version of the schema, $2 the scope, $3 the token, $4 the floor, $5 milliseconds to wait. */
  readonly install: string;
  /** $1 to $4 as those of `install`, $5 milliseconds without a statement. */
  readonly enter: string;
}

export const STATEMENTS: Statements = {
  install: 'SELECT holdfast.fence_install($1, $2, $3, $4, $5)',
  enter: 'SELECT holdfast.fence_enter($1, $2, $3, $4, $5)',
};

/** A token that was reset, or a row that changed while the transaction began, at higher levels of isolation. */
const MAX_BEGINS = 3;
/** An abort that comes while a commit is under way leaves it that long to answer. */
const COMMIT_GRACE_MS = 5_000;
/** SQLSTATE of a COMMIT where no transaction is open. */
const NO_TRANSACTION = '25P01';

/**
 * Runs `body` in a transaction that only commits if no newer holder has been at the scope, and returns what it returns. The first call of a
 * holder installs its token, and waits for the transactions of older holders that are under way.
 *
 * Whatever `body` sends must go through its `tx`, and it must not end the transaction. What it rejects with rolls back and is passed on.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted
 * before the commit; CONNECTION where the database went away (`indeterminate` where the answer to the commit is lost); TIMEOUT after `waitMs` or
 * `idleMs`; TOKEN_REQUIRED for a table that is guarded for another scope; SCHEMA_MISSING, SCHEMA_VERSION, INVALID_ARGUMENT, RESOURCE; and with what
 * `holder.assertHeld` throws.
 *
 * @example
 * await fence(pool, 'jobs', held, async (tx) => {
 *   const { rows } = await tx.query("SELECT id FROM jobs WHERE state = 'ready' LIMIT 1");
 *   await tx.query("UPDATE jobs SET state = 'running' WHERE id = $1", [rows[0].id]);
 * });
 */
export async function fence<Result>(
  pool: Pool,
  scope: string,
  holder: Holder,
  body: (tx: PoolClient) => Promise<Result>,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy(STATEMENTS, pool, scope, holder, body, options);
}

/**
 * Installs the holder's token: from now on no older holder commits anything in the scope. `fence` does it by itself; call it before reads
 * that are made elsewhere than in a body.
 *
 * Rejects as {@link fence} does. TIMEOUT: transactions of older holders were under way for longer than `waitMs`.
 *
 * @example
 * await install(pool, 'jobs', held);
 */
export async function install(pool: Pool, scope: string, holder: Holder, options: InstallOptions = {}): Promise<void> {
  await installBy(STATEMENTS, pool, scope, holder, options);
}

/** @internal */
export async function installBy(
  statements: Statements,
  pool: Pool,
  scope: string,
  holder: Holder,
  options: InstallOptions,
): Promise<void> {
  const settings = settingsOf('install', options);
  checkArguments(pool, scope, holder);
  await withCall({ statements, pool, scope, holder, settings }, (call) => call.install());
}

/** @internal */
export async function fenceBy<Result>(
  statements: Statements,
  pool: Pool,
  scope: string,
  holder: Holder,
  body: (tx: PoolClient) => Promise<Result>,
  options: FenceOptions,
): Promise<Result> {
  const settings = settingsOf('fence', options);
  checkArguments(pool, scope, holder);
  if (typeof body !== 'function')
    throw invalid('the fourth argument is the body: a function that is given the transaction');
  return await withCall({ statements, pool, scope, holder, settings }, async (call) => {
    await call.begin();
    const result = await call.perform(body);
    await call.commit();
    return result;
  });
}

interface CallOf {
  readonly statements: Statements;
  readonly pool: Pool;
  readonly scope: string;
  readonly holder: Holder;
  readonly settings: Settings;
}

async function withCall<Result>(of: CallOf, run: (call: Call) => Promise<Result>): Promise<Result> {
  of.holder.assertHeld?.();
  const cutoff = new Cutoff([of.holder.signal, of.settings.signal]);
  try {
    cutoff.throwIfAborted();
    const connection = await openConnection(of.pool, cutoff).catch((error: unknown) => {
      throw asFenceError(error, { doing: 'enter', scope: of.scope, token: of.holder.token });
    });
    const call = new Call(of, connection, cutoff);
    try {
      return await run(call);
    } finally {
      connection.close(await call.rollBack());
    }
  } finally {
    cutoff.end();
  }
}

/** Floors that were installed, by pool, holder and scope: floors only rise, so that further calls of a holder need not install again. */
const installed = new WeakMap<Pool, WeakMap<Holder, Map<string, number>>>();

class Call {
  readonly #of: CallOf;
  readonly #connection: Connection;
  readonly #cutoff: Cutoff;
  #open = false;

  constructor(of: CallOf, connection: Connection, cutoff: Cutoff) {
    this.#of = of;
    this.#connection = connection;
    this.#cutoff = cutoff;
  }

  async install(): Promise<void> {
    const floor = floorOf(this.#of.holder);
    const { statements, settings } = this.#of;
    const values = this.#values(settings.waitMs);
    try {
      await this.#query(statements.install, values);
    } catch (error) {
      // Only where the default of the database, of its role or of the connection is another one.
      if (codeOf(error) !== STATES.isolation) throw this.#failure(error, 'install');
      await this.#installAlone(statements.install, values);
    }
    this.#installed().set(this.#of.scope, floor);
  }

  /** With the body's transaction open, its token verified. */
  async begin(): Promise<void> {
    const { statements, settings, scope, holder } = this.#of;
    for (let attempt = 1; ; attempt += 1) {
      if ((this.#installed().get(scope) ?? 0) < floorOf(holder)) await this.install();
      try {
        this.#open = true;
        await this.#query(settings.begin);
        await this.#query(statements.enter, this.#values(settings.idleMs));
        return;
      } catch (error) {
        const again = ([STATES.notInstalled, '40001'] as readonly string[]).includes(codeOf(error));
        if (!again || attempt >= MAX_BEGINS) throw this.#failure(error, 'enter');
        await this.#query('ROLLBACK');
        this.#open = false;
        this.#installed().delete(scope);
      }
    }
  }

  async perform<Result>(body: (tx: PoolClient) => Promise<Result>): Promise<Result> {
    const running = (async () => await body(this.#connection.client))();
    running.catch(() => undefined);
    try {
      return await this.#cutoff.race(running);
    } catch (error) {
      // What ended the connection says more than that it has ended.
      throw asBodyError(isConnectionError(error) ? (this.#connection.lost() ?? error) : error, this.#of.scope);
    }
  }

  async commit(): Promise<void> {
    const { client, warnings, lost } = this.#connection;
    this.#cutoff.throwIfAborted();
    this.#of.holder.assertHeld?.();
    const end = lost();
    if (end !== undefined) throw asBodyError(end, this.#of.scope);
    const before = warnings.length;
    const late = (): FenceError =>
      new FenceError('ABORTED', 'a signal ended the call while the commit was under way: it may have happened', {
        indeterminate: true,
      });
    const committing = client.query('COMMIT');
    committing.catch(() => undefined);
    const { command } = await this.#cutoff.raceLate(committing, COMMIT_GRACE_MS, late).catch((error: unknown) => {
      throw this.#failure(error, 'commit');
    });
    this.#open = false;
    if (command === 'ROLLBACK') {
      const text =
        'a statement of the body had failed, and the body went on: the database rolled back, nothing was written';
      throw new FenceError('RESOURCE', `${text}; let the error of a statement leave the body, or use savepoints`);
    }
    if (warnings.slice(before).includes(NO_TRANSACTION)) {
      const text = 'the body has ended the transaction itself: what it sent afterwards was not fenced';
      throw new FenceError('RESOURCE', `${text}; send no COMMIT or ROLLBACK in it`, { indeterminate: true });
    }
  }

  /** @returns whether nothing is open on the connection; false: it is to be destroyed */
  async rollBack(): Promise<boolean> {
    // A statement may be under way.
    if (this.#cutoff.error !== undefined) return false;
    if (!this.#open) return true;
    return await this.#query('ROLLBACK').then(
      () => true,
      () => false,
    );
  }

  async #installAlone(statement: string, values: readonly unknown[]): Promise<void> {
    this.#open = true;
    try {
      await this.#query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
      await this.#query(statement, values);
      await this.#query('COMMIT');
      this.#open = false;
    } catch (error) {
      throw this.#failure(error, 'install');
    }
  }

  #values(ms: number): readonly unknown[] {
    const { scope, holder } = this.#of;
    return [SCHEMA_VERSION, scope, holder.token, floorOf(holder), ms];
  }

  async #query(text: string, values: readonly unknown[] = []): Promise<void> {
    const sending = this.#connection.client.query(text, [...values]);
    sending.catch(() => undefined);
    await this.#cutoff.race(sending);
  }

  #failure(error: unknown, doing: Doing): FenceError {
    return asFenceError(error, { doing, scope: this.#of.scope, token: this.#of.holder.token });
  }

  #installed(): Map<string, number> {
    const { pool, holder } = this.#of;
    const holders = installed.get(pool) ?? new WeakMap<Holder, Map<string, number>>();
    installed.set(pool, holders);
    const scopes = holders.get(holder) ?? new Map<string, number>();
    holders.set(holder, scopes);
    return scopes;
  }
}
