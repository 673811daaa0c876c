/** The table that the suite writes: cells of scopes in a file, through the fence or through a broken one. */

import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import type libsql from 'libsql';
import { fenceBy, installBy, STEPS, type Steps } from '../../src/fence.ts';
import { migrate } from '../../src/index.ts';
import { Database } from './driver.mjs';

const WRITER = join(import.meta.dirname, 'writer.mjs');
const TABLE =
  'CREATE TABLE IF NOT EXISTS cells (scope TEXT, cell TEXT, value TEXT NOT NULL, token INTEGER, PRIMARY KEY (scope, cell))';
const PUT =
  'INSERT INTO cells (scope, cell, value) VALUES (?, ?, ?) ON CONFLICT (scope, cell) DO UPDATE SET value = excluded.value';

/** How a broken resource writes a cell, under a token that it was given. */
export type Put = (tx: libsql.Database, scope: string, cell: string, value: string, holder: Holder) => void;

const put: Put = (tx, scope, cell, value) => void tx.prepare(PUT).run(scope, cell, value);

export interface CellsOptions {
  readonly steps?: Steps;
  /** The name of those steps, for processes that write slowly. */
  readonly broken?: string;
  readonly put?: Put;
  readonly install?: FencedResource['install'];
}

const ODD_NAMES = ["O'Brien", '"; DROP TABLE cells; --', 'ü/💡', 'U/💡', '?', ':x $y @z', 'x'.repeat(150)];
let names = 0;

export function openFile(file: string, options: libsql.Options = {}): libsql.Database {
  const database = new Database(file, options);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  return database;
}

export function cellsIn(file: string, options: CellsOptions = {}): () => Promise<FencedResource> {
  const { steps = STEPS, broken, put: write = put } = options;
  const setup = openFile(file);
  migrate(setup);
  setup.exec(TABLE);
  setup.close();
  const resource = (): FencedResource => {
    let database = openFile(file);
    return {
      cells: true,
      scope: () => {
        names += 1;
        return `${ODD_NAMES[names % ODD_NAMES.length]} ${names}`;
      },
      write: (scope, holder, value, cell = 'a') =>
        fenceBy({ steps, database, scope, holder, options: {} }, (tx) => write(tx, scope, cell, value, holder)),
      read: async (scope, _holder, cell = 'a') => {
        const row: unknown = database.prepare('SELECT value FROM cells WHERE scope = ? AND cell = ?').get(scope, cell);
        return typeof row === 'object' && row !== null && 'value' in row ? String(row.value) : null;
      },
      install: options.install ?? ((scope, holder) => installBy({ steps, database, scope, holder, options: {} })),
      slowWrite: (scope, holder, value) => slowWrite({ file, scope, holder, value, broken }),
      other: async () => resource(),
      restart: async () => {
        database.close();
        database = openFile(file);
      },
      close: async () => void database.close(),
    };
  };
  return async () => resource();
}

interface Slow {
  readonly file: string;
  readonly scope: string;
  readonly holder: Holder;
  readonly value: string;
  readonly broken?: string | undefined;
}

export interface Writer extends SlowWrite {
  readonly child: ChildProcess;
}

/** In a process of its own, since a body stands still. */
export async function slowWrite(slow: Slow): Promise<Writer> {
  names += 1;
  const gate = `${slow.file}.gate-${names}`;
  const child = fork(WRITER, [JSON.stringify({ ...slow, gate })], { execArgv: [] });
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  const end = async (how: 'commit' | 'abandon'): Promise<void> => {
    // Whole at once: the writer looks all the time.
    writeFileSync(`${gate}.new`, how);
    renameSync(`${gate}.new`, `${gate}.end`);
    if ((await ended) !== 0) throw failureAt(gate);
  };
  while (!existsSync(`${gate}.arrived`)) {
    const code = await Promise.race([ended, sleep(2, 'running' as const)]);
    if (code !== 'running') throw failureAt(gate);
  }
  return { child, finish: () => end('commit'), abandon: () => end('abandon').catch(() => undefined) };
}

function failureAt(gate: string): Error {
  const file = `${gate}.failed`;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{"message":"the process has ended"}';
  const { code, message } = JSON.parse(text) as { readonly code?: string; readonly message: string };
  return Object.assign(new Error(message), { code });
}
