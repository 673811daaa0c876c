/** One UPDATE in a transaction, on SQLite in this process, with its log synced at each commit. There are no round trips. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';

import { fence, migrate } from '@holdfast/fence-sqlite';
import Database from 'libsql';

import { holders, type Pair, type PairSource } from '../pair.ts';

const UPDATE = 'UPDATE accounts SET amount = amount + 1 WHERE id = ?';

export const sqlite: PairSource = {
  settings: 'libsql in process, journal_mode WAL, synchronous FULL; one connection, a row and a scope for each client',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const file = join(directory, 'bench.db');
  const database = new Database(file);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  database.exec('CREATE TABLE accounts (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)');
  const insert = database.prepare('INSERT INTO accounts (id, amount) VALUES (?, 0)');
  for (let client = 0; client < clients; client += 1) insert.run(client);
  migrate(database);
  const holderOf = holders(clients);
  return {
    // A write is done in one turn. Both ways leave the next one to others.
    async without(client) {
      await turn();
      database.exec('BEGIN IMMEDIATE');
      database.prepare(UPDATE).run(client);
      database.exec('COMMIT');
    },
    async through(client) {
      await turn();
      await fence(database, `jobs-${client}`, holderOf(client), (tx) => void tx.prepare(UPDATE).run(client));
    },
    pids: () => [],
    async close() {
      database.close();
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    },
  };
}
