/** Databases of their own on one server, pools that are closed behind the test, and what was sent over them. */

import mysql from 'mysql2/promise';
import { onTestFinished } from 'vitest';
import type { MariaDb } from './server.ts';

let databases = 0;

/** A fresh, empty database; its name. */
export async function freshDatabase(server: MariaDb): Promise<string> {
  databases += 1;
  const name = `db_${databases}`;
  const admin = await mysql.createConnection(server.config());
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  return name;
}

export function poolOn(config: mysql.PoolOptions): mysql.Pool {
  const pool = mysql.createPool(config);
  onTestFinished(() => pool.end());
  return pool;
}

/** The texts of all statements that are sent over the pool's connections from now on. */
export function statementsOf(pool: mysql.Pool): readonly string[] {
  const texts: string[] = [];
  pool.on('connection', (connection) => {
    const query = connection.query.bind(connection);
    Object.assign(connection, {
      query: (...args: readonly unknown[]): unknown => {
        const [first] = args as readonly [string | { readonly sql: string }];
        texts.push(typeof first === 'string' ? first : first.sql);
        return Reflect.apply(query, connection, args);
      },
    });
  });
  return texts;
}

/** A promise, and what settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Until so many transactions wait for a lock. The server makes that table anew when it was not read for a tenth of a second. */
export async function waiting(pool: mysql.Pool, count: number): Promise<void> {
  const statement = "SELECT COUNT(*) AS waiting FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
  await until(
    `${count} transactions wait for a lock`,
    async () => {
      const [[row]] = await pool.query<(mysql.RowDataPacket & { readonly waiting: number })[]>(statement);
      return (row?.waiting ?? 0) >= count;
    },
    150,
  );
}

export async function until(what: string, condition: () => boolean | Promise<boolean>, everyMs = 20): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await condition()) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, everyMs);
    });
  }
  throw new Error(`it did not come about that ${what}`);
}

export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error,
  );
}
