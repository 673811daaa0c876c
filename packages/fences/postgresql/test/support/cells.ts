/** The table that the suite writes: cells of scopes, through the fence or through a broken one. */

import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import { fenceOn, installOn } from '@holdfast/fence-sql';
import pg from 'pg';
import { postgresBy, STATEMENTS, type Statements } from '../../src/fence.ts';
import { migrate, type FenceOptions } from '../../src/index.ts';
import type { Postgres } from './server.ts';

const TABLE = `
  CREATE TABLE IF NOT EXISTS cells (
    scope text, cell text, value text NOT NULL, token bigint NOT NULL DEFAULT 0, PRIMARY KEY (scope, cell)
  )`;

const PUT = `
  INSERT INTO cells (scope, cell, value) VALUES ($1, $2, $3)
  ON CONFLICT (scope, cell) DO UPDATE SET value = excluded.value`;

/** How a broken resource writes a cell, under a token that it was given. */
export type Put = (tx: pg.PoolClient, scope: string, cell: string, value: string, holder: Holder) => Promise<void>;

export const put: Put = async (tx, scope, cell, value) => {
  await tx.query(PUT, [scope, cell, value]);
};

/** Where a slow write stops: its transaction has verified the token, and has written already, or not yet. */
export type Stop = 'before its write' | 'behind its write';

export interface CellsOptions {
  /** Those of the fence, or broken ones. */
  readonly statements?: Statements;
  readonly put?: Put;
  readonly stop?: Stop;
  readonly isolation?: FenceOptions['isolation'];
}

class Abandoned extends Error {}

/** Names as nobody would choose them: what is not quoted breaks on one. */
const ODD_NAMES = ["O'Brien", '"; DROP TABLE cells; --', "\\'; SELECT 1", 'ü/💡', '$1', '%s %L %I', 'x'.repeat(150)];
let names = 0;

export interface Cells {
  readonly open: () => Promise<FencedResource>;
  close(): Promise<void>;
}

export async function cellsOn(server: Postgres, options: CellsOptions = {}): Promise<Cells> {
  const { statements = STATEMENTS, put: write = put, stop = 'behind its write', isolation } = options;
  const database = postgresBy(statements);
  const pools = new Set<pg.Pool>();
  const openPool = (): pg.Pool => {
    const pool = new pg.Pool({ connectionString: server.url, max: 12 });
    // A server that stops ends idle connections.
    pool.on('error', () => undefined);
    pools.add(pool);
    return pool;
  };
  const setup = openPool();
  await migrate(setup);
  await setup.query(TABLE);
  const fenced =
    (pool: pg.Pool, scope: string, holder: Holder): Fenced =>
    (body) =>
      fenceOn(database, { pool, scope, holder, options: { isolation } }, body);
  const resourceOn = (pool: pg.Pool): FencedResource => ({
    cells: true,
    scope: () => {
      names += 1;
      return `${ODD_NAMES[names % ODD_NAMES.length]} ${names}`;
    },
    write: async (scope, holder, value, cell = 'a') =>
      await fenced(pool, scope, holder)((tx) => write(tx, scope, cell, value, holder)),
    read: async (scope, _holder, cell = 'a') => {
      const { rows } = await pool.query<{ value: string }>('SELECT value FROM cells WHERE scope = $1 AND cell = $2', [
        scope,
        cell,
      ]);
      return rows[0]?.value ?? null;
    },
    install: (scope, holder) => installOn(database, { pool, scope, holder, options: {} }),
    slowWrite: async (scope, holder, value) =>
      await slowWrite(stop, fenced(pool, scope, holder), (tx) => write(tx, scope, 'a', value, holder)),
    other: async () => resourceOn(openPool()),
    restart: () => server.restart(),
    crash: () => server.crash(),
    close: async () => {
      pools.delete(pool);
      await pool.end();
    },
  });
  return {
    open: async () => resourceOn(openPool()),
    close: async () => void (await Promise.all([...pools].map((pool) => pool.end()))),
  };
}

type Fenced = (body: (tx: pg.PoolClient) => Promise<void>) => Promise<void>;

async function slowWrite(stop: Stop, fenced: Fenced, write: (tx: pg.PoolClient) => Promise<void>): Promise<SlowWrite> {
  let goOn: (() => void) | undefined;
  let giveUp: ((error: Error) => void) | undefined;
  let whole: Promise<void> | undefined;
  await new Promise<void>((arrived, failed) => {
    const gate = new Promise<void>((resolve, reject) => {
      goOn = resolve;
      giveUp = reject;
    });
    gate.catch(() => undefined);
    whole = fenced(async (tx) => {
      if (stop === 'behind its write') await write(tx);
      arrived();
      await gate;
      if (stop === 'before its write') await write(tx);
    });
    whole.catch(failed);
  });
  return {
    finish: async () => {
      goOn?.();
      await whole;
    },
    abandon: async () => {
      giveUp?.(new Abandoned());
      await whole?.catch(() => undefined);
    },
  };
}
