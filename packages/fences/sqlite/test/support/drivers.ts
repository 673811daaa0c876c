/** The drivers that there are: node:sqlite comes with later lines of Node.js. */

import type { SqliteDatabase } from '../../src/index.ts';
import { Database, driverName } from './driver.mjs';

export interface OpenDatabase extends SqliteDatabase {
  close(): unknown;
}

export type Open = (file?: string) => OpenDatabase;

interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => OpenDatabase;
}

function nodeSqlite(): NodeSqlite | undefined {
  const { getBuiltinModule } = process as { readonly getBuiltinModule?: (name: string) => unknown };
  return getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined;
}

const builtIn = nodeSqlite();

export const DRIVERS: Readonly<Record<string, Open>> = {
  [driverName]: (file = ':memory:') => new Database(file),
  ...(builtIn !== undefined && { 'node:sqlite': (file = ':memory:') => new builtIn.DatabaseSync(file) }),
};
