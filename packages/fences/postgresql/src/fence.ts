/**
 * acquire → install → read → write, on PostgreSQL. The install is a transaction of its own, before the one of the body: so what the body reads
 * is later than everything that older holders have committed, at every level of isolation.
 */

import { FenceError, floorOf, type Holder } from '@holdfast/fence';
import { codeOf, InstalledFloors, invalid, succeeds, told } from '@holdfast/fence/adapter';
import { borrow, Borrowed, fenceOn, installOn, statementsThatBegin } from '@holdfast/fence-sql';
import type { Database, Doing, FencedSession, FenceOptions, InstallOptions, Opened } from '@holdfast/fence-sql';
import type { Pool, PoolClient } from 'pg';
import { asBodyError, asFenceError, isConnectionError } from './errors.ts';
import { SCHEMA_VERSION, STATES } from './sql.ts';

/** The two statements that make a fence. Tests put broken ones in their place. */
export interface Statements {
  /** $1 the version of the schema, $2 the scope, $3 the token, $4 the floor, $5 milliseconds to wait. */
  readonly install: string;
  /** $1 to $4 as those of `install`. Sent with BEGIN ISOLATION LEVEL READ COMMITTED. */
  readonly enter: string;
  /** Sent with that of another level. */
  readonly enterSnapshot: string;
}

export const STATEMENTS: Statements = {
  install: 'SELECT holdfast.fence_install($1, $2, $3, $4, $5)',
  enter: 'SELECT holdfast.fence_verify($1, $2, $3, $4)',
  enterSnapshot: 'SELECT holdfast.fence_enter($1, $2, $3, $4, $5)',
};

/** How often a transaction is begun whose token was reset, or whose row changed meanwhile. */
const MAX_BEGINS = 3;
/** SQLSTATE of a COMMIT where no transaction is open. */
const NO_TRANSACTION = '25P01';

/** What a body does not get. */
const GUARDED = {
  sending: /^query$/,
  ending: /^(release|end|connect)$/,
  endingStatements: statementsThatBegin(
    String.raw`(?:begin|commit|end|abort|(?:start|prepare)\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b`,
  ),
};

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
  return await fenceOn(POSTGRESQL, { pool, scope, holder, options }, body);
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
  await installOn(POSTGRESQL, { pool, scope, holder, options });
}

/** @param statements broken ones in tests */
export function postgresBy(statements: Statements): Database<Pool, PoolClient> {
  return {
    checkPool,
    open: async (of) => {
      const connecting = borrow(of.pool.connect(), of.cutoff, NO_CLIENT);
      const client = await told(connecting, (error) => failureIn(of, error, 'connect'));
      return new Session(statements, of, client);
    },
  };
}

const POSTGRESQL = postgresBy(STATEMENTS);
const NO_CLIENT = 'the pool gave no client with release(): pass a Pool of pg';

const installed = new InstalledFloors();
/** Of servers that cannot tell whether a client is there: those before PostgreSQL 14, and those of some systems. */
const unwatched = new WeakSet<Pool>();
const CANNOT_WATCH = ['42704', '22023'];
/** A token that was reset, or a row that changed while the transaction began, at higher levels of isolation. */
const AGAIN: readonly string[] = [STATES.notInstalled, '40001'];

class Session implements FencedSession<PoolClient> {
  readonly borrowed: Borrowed<PoolClient>;
  readonly #statements: Statements;
  readonly #of: Opened<Pool>;
  /** A transaction may be open. */
  #open = false;

  constructor(statements: Statements, of: Opened<Pool>, client: PoolClient) {
    this.#statements = statements;
    this.#of = of;
    this.borrowed = new Borrowed(client, GUARDED, {
      release: () => client.release(),
      destroy: () => client.release(true),
    });
  }

  async install(): Promise<void> {
    const { settings, scope, holder } = this.#of;
    const install = (): Promise<void> => this.#query(this.#statements.install, this.#values(settings.waitMs));
    try {
      await install().catch(async (error: unknown) => {
        // Only where the default of the database, of its role or of the connection is another one.
        if (codeOf(error) !== STATES.isolation) throw error;
        this.#open = true;
        await this.#query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
        await install();
        await this.#query('COMMIT');
        this.#open = false;
      });
    } catch (error) {
      throw failureIn(this.#of, error, 'install');
    }
    this.#installed.set(scope, floorOf(holder));
  }

  async enter(): Promise<void> {
    const { pool, scope, holder } = this.#of;
    for (let attempt = 1; ; attempt += 1) {
      if ((this.#installed.get(scope) ?? 0) < floorOf(holder)) await this.install();
      const watched = !unwatched.has(pool);
      try {
        this.#open = true;
        // Sent together, they wait for the server once, as a BEGIN alone does.
        await this.#query(this.#beginning(watched));
        return;
      } catch (error) {
        const code = codeOf(error);
        if (watched && CANNOT_WATCH.includes(code)) unwatched.add(pool);
        else if (!AGAIN.includes(code) || attempt >= MAX_BEGINS) throw failureIn(this.#of, error, 'enter');
        else this.#installed.delete(scope);
        await this.#query('ROLLBACK');
        this.#open = false;
      }
    }
  }

  failureOfBody(error: unknown): unknown {
    // What ended the connection says more than that it has ended.
    return asBodyError(isConnectionError(error) ? (this.borrowed.lost ?? error) : error, this.#of.scope);
  }

  async commit(): Promise<void> {
    const { connection: client } = this.borrowed;
    let ended = false;
    const onNotice = ({ code }: { code?: string | undefined }): void => void (ended ||= code === NO_TRANSACTION);
    client.on('notice', onNotice);
    const committing = this.#of.cutoff.raceLate(client.query('COMMIT'));
    const { command } = await told(committing, (error) => failureIn(this.#of, error, 'commit')).finally(() =>
      client.off('notice', onNotice),
    );
    this.#open = false;
    if (command === 'ROLLBACK') {
      const text = 'a statement had failed, and the body went on: the database rolled back, nothing was written';
      throw new FenceError('RESOURCE', `${text}; let the error of a statement leave the body, or use savepoints`);
    }
    if (ended) {
      const text = 'the body has ended the transaction itself: what it sent afterwards was not fenced';
      throw new FenceError('RESOURCE', `${text}; send no COMMIT or ROLLBACK in it`, { indeterminate: true });
    }
  }

  async rollBack(): Promise<boolean> {
    return !this.#open || (await succeeds(this.#query('ROLLBACK')));
  }

  /** Values are written in it, since only such statements are sent together. Settings end with the transaction, and cost it next to nothing. */
  #beginning(watched: boolean): string {
    const { level = 'READ COMMITTED', idleMs } = this.#of.settings;
    const literal = (value: string | number): string => this.borrowed.connection.escapeLiteral(`${value}`);
    const values = this.#values(idleMs).map(literal);
    const entering = level === 'READ COMMITTED' ? this.#statements.enter : this.#statements.enterSnapshot;
    const text = entering.replaceAll(/\$([1-5])/g, (_, place: string) => values[Number(place) - 1] ?? '');
    const watch = watched ? 'SET LOCAL client_connection_check_interval = 1000; ' : '';
    const local = `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}; ${watch}SET LOCAL holdfast.scopes`;
    return `BEGIN ISOLATION LEVEL ${level}; ${local} = ${literal(JSON.stringify([this.#of.scope]))}; ${text}`;
  }

  #values(ms: number): readonly (string | number)[] {
    const { scope, holder } = this.#of;
    return [SCHEMA_VERSION, scope, holder.token, floorOf(holder), ms];
  }

  async #query(text: string, values: readonly unknown[] = []): Promise<void> {
    await this.#of.cutoff.race(this.borrowed.connection.query(text, [...values]));
  }

  get #installed(): Map<string, number> {
    return installed.of(this.#of.pool, this.#of.holder);
  }
}

function failureIn({ scope, holder }: Opened<Pool>, error: unknown, doing: Doing): FenceError {
  return asFenceError(error, { doing, scope, token: holder.token });
}

/** A client has `connect` as well, and would be connected before anybody noticed. */
export function checkPool(pool: unknown): void {
  const is = typeof pool === 'object' && pool !== null && 'connect' in pool && 'totalCount' in pool;
  if (!is) throw invalid('the first argument is the pool of the application: a Pool of pg, and no Client of it');
}
