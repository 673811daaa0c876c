/** A connection of the pool for one call. One on which anything is unclear is destroyed, and the server rolls back what was open on it. */

import { FenceError } from '@holdfast/fence';
import type { Pool, PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import type { Cutoff } from './cutoff.ts';
import { missingSchema, versionError } from './errors.ts';
import { invalid } from './options.ts';
import { SCHEMA_VERSION, STATEMENTS } from './sql.ts';
import { isOpen } from './transaction.ts';

/** Rows as this package reads them, however the pool has them read. */
const PLAIN = {
  rowsAsArray: false,
  nestTables: false,
  typeCast: (_field: unknown, read: () => unknown): unknown => read(),
  namedPlaceholders: false,
  supportBigNumbers: true,
  bigNumberStrings: true,
} as const;

interface FloorRow extends RowDataPacket {
  readonly version: unknown;
  readonly floor: unknown;
}

export class Session {
  readonly connection: PoolConnection;
  readonly #cutoff: Cutoff;
  #lost: Error | undefined;
  #begun = false;
  readonly #onError = (error: Error): void => {
    this.#lost ??= error;
  };
  /** It comes first where the server ends an idle connection. */
  readonly #onEnd = (): void => this.#onError(new Error('the server ended the connection'));

  private constructor(connection: PoolConnection, cutoff: Cutoff) {
    this.connection = connection;
    this.#cutoff = cutoff;
    connection.on('error', this.#onError);
    connection.on('end', this.#onEnd);
  }

  /** Rejects with ABORTED when a signal comes first; a connection that comes later goes back. */
  static async open(pool: Pool, cutoff: Cutoff): Promise<Session> {
    const connecting = pool.getConnection();
    let connection: PoolConnection;
    try {
      connection = await cutoff.race(connecting);
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw error;
    }
    // Of JavaScript anything may come.
    if (typeof (connection as Partial<PoolConnection> | undefined)?.release !== 'function') {
      throw invalid('the pool gave no connection with release(): pass a pool of mysql2/promise');
    }
    return new Session(connection, cutoff);
  }

  /** The connection's end, if it has come. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  async begin(idleSeconds: number): Promise<void> {
    this.#begun = true;
    const answer = await this.send(STATEMENTS.begin, [idleSeconds]);
    if (isOpen([answer]) !== true) return;
    this.#begun = false;
    this.connection.destroy();
    throw new FenceError(
      'RESOURCE',
      'the pool gave a connection with a transaction that was left open: commit or roll back before releasing a connection',
    );
  }

  async send(sql: string, values: readonly (number | Buffer)[] = []): Promise<ResultSetHeader> {
    const sending = this.connection.query<ResultSetHeader>({ ...PLAIN, sql, values: [...values] });
    sending.catch(() => undefined);
    const [answer] = await this.#cutoff.race(sending);
    return answer;
  }

  /** 0 where nobody has been. Rejects with SCHEMA_MISSING or SCHEMA_VERSION. */
  async floor(sql: string, scope: string): Promise<number> {
    const reading = readFloor(this.connection, sql, scope);
    reading.catch(() => undefined);
    return await this.#cutoff.race(reading);
  }

  /**
   * Resolves when nothing is open any more. A spoiled connection is none for others: tables may be locked on it. That the connection is made what it was before, and goes back to the pool, is not waited for:
   * the caller's answer is there.
   */
  async close({ open, spoiled }: { readonly open: boolean; readonly spoiled: boolean }): Promise<void> {
    this.connection.off('error', this.#onError);
    this.connection.off('end', this.#onEnd);
    // A statement may be under way.
    const unclear = spoiled || this.#cutoff.error !== undefined || this.#lost !== undefined;
    if (unclear || (open && !(await succeeds(this.send(STATEMENTS.rollBack))))) {
      this.connection.destroy();
      return;
    }
    const restored = this.#begun ? succeeds(this.send(STATEMENTS.restore)) : Promise.resolve(true);
    void restored.then((reusable) => (reusable ? this.connection.release() : this.connection.destroy()));
  }
}

/** Scopes are sent as bytes, whose literal no `sql_mode` reads in another way. */
export async function readFloor(on: Pool | PoolConnection, sql: string, scope: string): Promise<number> {
  const [[row]] = await on.query<FloorRow[]>({ ...PLAIN, sql, values: [Buffer.from(scope)] });
  if (row === undefined) throw missingSchema();
  const version = Number(row.version);
  if (version !== SCHEMA_VERSION) throw versionError(version);
  return Number(row.floor ?? 0);
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return await call.then(
    () => true,
    () => false,
  );
}
