/**
 * acquire → install → read → write, on MySQL and MariaDB. The install is a transaction of its own, before the one of the body; and the first
 * statement of that locks the floor. So what the body reads is later than everything that older holders have committed, at every isolation.
 */

import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import { invalid, succeeds, told } from '@holdfast/fence/adapter';
import { borrow, Borrowed, fenceOn, installOn } from '@holdfast/fence-sql';
import type { Database, Doing, FencedSession, FenceOptions, InstallOptions, Opened } from '@holdfast/fence-sql';
import type { Pool, PoolConnection, ResultSetHeader } from 'mysql2/promise';
import { GUARDED, isOpen, watched } from './endings.ts';
import { asBodyError, asFenceError, DEADLOCK, numberOf } from './errors.ts';
import { PLAIN, readFloor } from './floors.ts';
import { STATEMENTS } from './sql.ts';

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
  return await fenceOn(MYSQL, { pool, scope, holder, options }, body);
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
  await installOn(MYSQL, { pool, scope, holder, options });
}

/** @param steps broken ones in tests */
export function mysqlBy(steps: Steps): Database<Pool, PoolConnection> {
  return {
    checkPool,
    open: async (of) =>
      new Session(steps, of, await during('connect', borrow(of.pool.getConnection(), of.cutoff, NO_CONNECTION))),
  };
}

const MYSQL = mysqlBy(STEPS);
const NO_CONNECTION = 'the pool gave no connection with release(): pass a pool of mysql2/promise';

class Session implements FencedSession<PoolConnection> {
  readonly borrowed: Borrowed<PoolConnection>;
  readonly #steps: Steps;
  readonly #of: Opened<Pool>;
  /** A transaction may be open. */
  #open = false;

  constructor(steps: Steps, of: Opened<Pool>, connection: PoolConnection) {
    this.#steps = steps;
    this.#of = of;
    const send = (sending: () => unknown, text: string): unknown => watched(sending, text, this.borrowed);
    const destroy = (): void => connection.destroy();
    this.borrowed = new Borrowed(
      connection,
      { ...GUARDED, send },
      {
        // That the connection is made what it was before is not waited for: the caller's answer is there.
        release: () => {
          void succeeds(this.send(STATEMENTS.restore)).then((ok) => (ok ? connection.release() : destroy()));
        },
        destroy,
      },
    );
  }

  /** A floor that can be seen was committed when all transactions below it had ended. */
  async install(): Promise<void> {
    const { scope, holder } = this.#of;
    await this.#installedBy('install', async () => await this.#steps.look(this, scope, holder));
    await this.#end(STATEMENTS.rollBack, 'install');
  }

  async enter(): Promise<void> {
    const { scope, holder, settings } = this.#of;
    await this.#installedBy('enter', async () => {
      if (settings.level !== undefined) await this.send(`SET TRANSACTION ISOLATION LEVEL ${settings.level}`);
      return await this.#steps.enter(this, scope, holder);
    });
  }

  async commit(): Promise<void> {
    await during('commit', this.#of.cutoff.raceLate(this.borrowed.connection.query(STATEMENTS.commit)));
    this.#open = false;
  }

  /** Of a transaction that has ended otherwise nothing is known: tables may be locked on the connection. */
  async rollBack(): Promise<boolean> {
    return this.borrowed.lost === undefined && (!this.#open || (await succeeds(this.send(STATEMENTS.rollBack))));
  }

  failureOfBody(error: unknown): unknown {
    return asBodyError(error, this.borrowed.lost);
  }

  async send(sql: string, values: readonly (number | Buffer)[] = []): Promise<ResultSetHeader> {
    const sending = this.borrowed.connection.query<ResultSetHeader>({ ...PLAIN, sql, values: [...values] });
    return (await this.#of.cutoff.race(sending))[0];
  }

  /** 0 where nobody has been. Rejects with SCHEMA_MISSING or SCHEMA_VERSION. */
  async floor(sql: string, scope: string): Promise<number> {
    return await this.#of.cutoff.race(readFloor(this.borrowed.connection, sql, scope));
  }

  async #begin(): Promise<void> {
    const answer = await this.send(STATEMENTS.begin, [seconds(this.#of.settings.idleMs)]);
    if (isOpen([answer]) !== true) return;
    const text = 'the pool gave a connection with a transaction that was left open';
    const error = new FenceError('RESOURCE', `${text}: commit or roll back before releasing a connection`);
    this.borrowed.lose(error);
    throw error;
  }

  /** Reads the floor in a transaction that stays open, and raises it in one of its own where it is too low. */
  async #installedBy(doing: Doing, read: () => Promise<number>): Promise<void> {
    const { scope, holder } = this.#of;
    await during(doing, this.#begin());
    for (let tries = 1; ; tries += 1) {
      this.#open = true;
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
    const { scope, holder, settings } = this.#of;
    await during('install', this.send(STATEMENTS.lockWait, [seconds(settings.waitMs)]));
    this.#open = true;
    await told(this.#steps.raise(this, scope, holder), (error) =>
      numberOf(error) === DEADLOCK ? error : asFenceError(error, 'install'),
    );
    await this.#end(STATEMENTS.commit, 'install');
    await during('install', this.send(STATEMENTS.ownLockWait));
  }

  async #end(statement: string, doing: Doing): Promise<void> {
    await during(doing, this.send(statement));
    this.#open = false;
  }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

function notInstalled(scope: string, token: number): FenceError {
  const text = `token ${token} does not stay installed in scope ${JSON.stringify(scope)}: who deletes from holdfast_fence?`;
  return new FenceError('TOKEN_NOT_INSTALLED', text);
}

async function during<Result>(doing: Doing, work: Promise<Result>): Promise<Result> {
  return await told(work, (error) => asFenceError(error, doing));
}

/** Pools with callbacks have `promise`, clusters of pools have `of`, and connections have no `getConnection`. */
export function checkPool(pool: unknown): void {
  const is = typeof pool === 'object' && pool !== null && 'getConnection' in pool;
  if (is && !('promise' in pool) && !('of' in pool)) return;
  throw invalid(
    'the first argument is the pool of the application: what createPool of mysql2/promise gives, and no connection; ' +
      'of a pool with callbacks, pool.promise()',
  );
}
