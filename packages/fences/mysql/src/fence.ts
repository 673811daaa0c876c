/**
 * acquire → install → read → write, on MySQL and MariaDB. The install is a transaction of its own, before the one of the body; and the first
 * statement of that locks the floor. So what the body reads is later than everything that older holders have committed, at every isolation.
 */

import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import type { Pool, PoolConnection } from 'mysql2/promise';
import { Cutoff } from './cutoff.ts';
import { asBodyError, asFenceError, DEADLOCK, isConnectionError, lostError, numberOf, type Doing } from './errors.ts';
import {
  checkArguments,
  invalid,
  settingsOf,
  type FenceOptions,
  type InstallOptions,
  type Settings,
} from './options.ts';
import { Session } from './session.ts';
import { STATEMENTS } from './sql.ts';
import { Transaction } from './transaction.ts';

/** What makes a fence. Tests put broken ones in its place. */
export interface Steps {
  /** The floor as it is. */
  readonly look: (session: Session, scope: string, holder: Holder) => Promise<number>;
  /** The floor, which stays as it is until the transaction ends. */
  readonly enter: (session: Session, scope: string, holder: Holder) => Promise<number>;
  /** Raises the floor when no transaction under way has entered. */
  readonly raise: (session: Session, scope: string, holder: Holder) => Promise<void>;
}

export const STEPS: Steps = {
  look: (session, scope) => session.floor(STATEMENTS.look, scope),
  enter: (session, scope) => session.floor(STATEMENTS.enter, scope),
  raise: async (session, scope, holder) => {
    const floor = floorOf(holder);
    await session.send(STATEMENTS.raise, [Buffer.from(scope), floor, floor, floor]);
  },
};

/** A row that somebody deletes, and deadlocks with inserts that are rolled back. */
const MAX_TRIES = 3;
/** An abort that comes while a commit is under way leaves it that long to answer. */
const COMMIT_GRACE_MS = 5_000;

/**
 * Runs `body` in a transaction that only commits if no newer holder has been at the scope, and returns what it returns. The first call of a
 * holder installs its token, and waits for the transactions of older holders that are under way.
 *
 * Whatever `body` sends must go through its `tx`, and it must not end the transaction: `tx` refuses what would, and what comes behind the end.
 * What the body rejects with rolls back and is passed on.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted
 * before the commit; CONNECTION where the database went away (`indeterminate` where the answer to the commit is lost); TIMEOUT after `waitMs`;
 * RESOURCE where a statement ended the transaction; SCHEMA_MISSING, SCHEMA_VERSION, INVALID_ARGUMENT; and with what `holder.assertHeld` throws.
 *
 * @example
 * await fence(pool, 'jobs', held, async (tx) => {
 *   const [jobs] = await tx.query("SELECT id FROM jobs WHERE state = 'ready' LIMIT 1");
 *   await tx.query("UPDATE jobs SET state = 'running' WHERE id = ?", [jobs[0].id]);
 * });
 */
export async function fence<Result>(
  pool: Pool,
  scope: string,
  holder: Holder,
  body: (tx: PoolConnection) => Promise<Result>,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy(STEPS, pool, scope, holder, body, options);
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
  await installBy(STEPS, pool, scope, holder, options);
}

/** @internal */
export async function installBy(
  steps: Steps,
  pool: Pool,
  scope: string,
  holder: Holder,
  options: InstallOptions,
): Promise<void> {
  const settings = settingsOf('install', options);
  checkArguments(pool, scope, holder);
  await withCall({ steps, pool, scope, holder, settings }, (call) => call.install());
}

/** @internal */
export async function fenceBy<Result>(
  steps: Steps,
  pool: Pool,
  scope: string,
  holder: Holder,
  body: (tx: PoolConnection) => Promise<Result>,
  options: FenceOptions,
): Promise<Result> {
  const settings = settingsOf('fence', options);
  checkArguments(pool, scope, holder);
  if (typeof body !== 'function')
    throw invalid('the fourth argument is the body: a function that is given the transaction');
  return await withCall({ steps, pool, scope, holder, settings }, async (call) => {
    await call.enter();
    return await call.perform(body);
  });
}

interface CallOf {
  readonly steps: Steps;
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
    const session = await told('connect', Session.open(of.pool, cutoff));
    const call = new Call(of, session, cutoff);
    try {
      await told('enter', session.begin(of.settings.idleSeconds));
      return await run(call);
    } finally {
      await session.close(call);
    }
  } finally {
    cutoff.end();
  }
}

class Call {
  readonly #of: CallOf;
  readonly #session: Session;
  readonly #cutoff: Cutoff;
  /** A transaction may be open. */
  open = false;
  /** The body has ended the transaction by a statement. */
  spoiled = false;

  constructor(of: CallOf, session: Session, cutoff: Cutoff) {
    this.#of = of;
    this.#session = session;
    this.#cutoff = cutoff;
  }

  /** A floor that can be seen was committed when all transactions below it had ended. */
  async install(): Promise<void> {
    await this.#installedBy(
      'install',
      async () => await this.#of.steps.look(this.#session, this.#of.scope, this.#of.holder),
    );
    await this.#end(STATEMENTS.rollBack, 'install');
  }

  /** With the body's transaction open, its token verified. */
  async enter(): Promise<void> {
    const { steps, scope, holder, settings } = this.#of;
    await this.#installedBy('enter', async () => {
      if (settings.isolation !== undefined) await this.#session.send(settings.isolation);
      return await steps.enter(this.#session, scope, holder);
    });
  }

  async perform<Result>(body: (tx: PoolConnection) => Promise<Result>): Promise<Result> {
    const transaction = new Transaction(this.#session.connection);
    try {
      const running = (async () => await body(transaction.tx))();
      running.catch(() => undefined);
      const result = await this.#cutoff.race(running);
      if (transaction.ended !== undefined) throw transaction.ended;
      if (this.#session.lost !== undefined) throw lostError(this.#session.lost);
      transaction.close();
      this.#cutoff.throwIfAborted();
      this.#of.holder.assertHeld?.();
      await this.#commit();
      return result;
    } catch (error) {
      throw this.#session.lost !== undefined && isConnectionError(error)
        ? lostError(this.#session.lost)
        : asBodyError(error);
    } finally {
      transaction.close();
      this.spoiled = transaction.ended !== undefined;
    }
  }

  /** Reads the floor in a transaction that stays open, and raises it in one of its own where it is too low. */
  async #installedBy(doing: Doing, read: () => Promise<number>): Promise<void> {
    const { scope, holder } = this.#of;
    for (let tries = 1; ; tries += 1) {
      this.open = true;
      try {
        const floor = await read();
        if (holder.token < floor) throw new StaleTokenError(scope, holder.token, floor);
        if (floor >= floorOf(holder)) return;
        if (tries > MAX_TRIES) throw notInstalled(scope, holder.token);
        await this.#end(STATEMENTS.rollBack, doing);
        await this.#raise();
      } catch (error) {
        if (numberOf(error) !== DEADLOCK || tries > MAX_TRIES) throw asFenceError(error, doing);
        await this.#end(STATEMENTS.rollBack, doing);
      }
    }
  }

  async #raise(): Promise<void> {
    const { steps, scope, holder, settings } = this.#of;
    await told('install', this.#session.send(STATEMENTS.lockWait, [settings.waitSeconds]));
    this.open = true;
    await steps.raise(this.#session, scope, holder).catch((error: unknown) => {
      throw numberOf(error) === DEADLOCK ? error : asFenceError(error, 'install');
    });
    await this.#end(STATEMENTS.commit, 'install');
    await told('install', this.#session.send(STATEMENTS.ownLockWait));
  }

  async #end(statement: string, doing: Doing): Promise<void> {
    await told(doing, this.#session.send(statement));
    this.open = false;
  }

  async #commit(): Promise<void> {
    const late = (): FenceError =>
      new FenceError('ABORTED', 'a signal ended the call while the commit was under way: it may have happened', {
        indeterminate: true,
      });
    const committing = this.#session.connection.query(STATEMENTS.commit);
    committing.catch(() => undefined);
    await told('commit', this.#cutoff.raceLate(committing, COMMIT_GRACE_MS, late));
    this.open = false;
  }
}

function notInstalled(scope: string, token: number): FenceError {
  const text = `token ${token} does not stay installed in scope ${JSON.stringify(scope)}: who deletes from holdfast_fence?`;
  return new FenceError('TOKEN_NOT_INSTALLED', text);
}

async function told<Result>(doing: Doing, call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw asFenceError(error, doing);
  }
}
