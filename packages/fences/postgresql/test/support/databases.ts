/** Databases of their own on one server, pools that are closed behind the test, and what was sent over them. */

import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { Postgres } from './server.ts';

let databases = 0;

/** A fresh, empty database; its address. */
export async function freshDatabase({ url }: Postgres): Promise<string> {
  databases += 1;
  const name = `db_${databases}`;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  return url.replace(/postgres$/, name);
}

export function poolOn(url: string, config: pg.PoolConfig = {}): pg.Pool {
  // A test that hangs says where.
  const pool = new pg.Pool({ connectionString: url, statement_timeout: 30_000, ...config });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  return pool;
}

/** The texts of all statements that are sent over the pool from now on. */
export function statementsOf(pool: pg.Pool): readonly string[] {
  const texts: string[] = [];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: readonly unknown[]) => unknown;
    Object.assign(client, {
      query: (...args: readonly unknown[]): unknown => {
        texts.push(String(args[0]));
        return query(...args);
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

/** The sessions that wait for a lock. */
export async function waiting(pool: pg.Pool, count: number): Promise<void> {
  const statement = "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  for (let tries = 0; tries < 1_000; tries += 1) {
    const { rows } = await pool.query<{ waiting: number }>(statement);
    if ((rows[0]?.waiting ?? 0) >= count) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  throw new Error(`no ${count} sessions wait for a lock`);
}

export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error,
  );
}
