/** How floors are read. */

import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { missingSchema, versionError } from './errors.ts';
import { SCHEMA_VERSION } from './sql.ts';

/** Rows as this package reads them, however the pool has them read. */
export const PLAIN = {
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

/** Scopes are sent as bytes, whose literal no `sql_mode` reads in another way. */
export async function readFloor(on: Pool | PoolConnection, sql: string, scope: string): Promise<number> {
  const [[row]] = await on.query<FloorRow[]>({ ...PLAIN, sql, values: [Buffer.from(scope)] });
  if (row === undefined) throw missingSchema();
  const version = Number(row.version);
  if (version !== SCHEMA_VERSION) throw versionError(version);
  return Number(row.floor ?? 0);
}
