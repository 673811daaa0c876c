/** Setting up, and what operators ask. */

import { checkScope } from '@holdfast/fence';
import { checkDatabase, firstRow, rowOf, statementOf, type Row, type SqliteDatabase } from './database.ts';
import { during, missingSchema, versionError } from './errors.ts';
import { SCHEMA_VERSION, STATEMENTS, TABLES } from './sql.ts';

/**
 * What {@link migrate} runs, for a tool of your own: it can be run again.
 *
 * @example
 * console.log(SCHEMA_SQL); // node -e … > migrations/0007_holdfast.sql
 */
export const SCHEMA_SQL: string = `${TABLES}${STATEMENTS.setVersion.replace('?', String(SCHEMA_VERSION))};\n`;

/**
 * Makes the tables `holdfast_fence` and `holdfast_fence_version`, or brings them to this version. Does nothing where they are there.
 *
 * @throws FenceError SCHEMA_VERSION where a newer version of this package made them; TIMEOUT where others write; CONNECTION or RESOURCE
 *
 * @example
 * migrate(database);
 */
export function migrate(database: SqliteDatabase): void {
  checkDatabase(database);
  migrateTo(database, SCHEMA_VERSION);
}

/** @internal */
export function migrateTo(database: SqliteDatabase, version: number): void {
  during('schema', () => database.exec(STATEMENTS.lock));
  try {
    during('schema', () => {
      database.exec(TABLES);
      const { version: present } = firstRow(database, STATEMENTS.version);
      if (present !== undefined && Number(present) > version) throw versionError(Number(present));
      if (Number(present) !== version) database.prepare(STATEMENTS.setVersion).run(version);
      database.exec('COMMIT');
    });
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * The highest floor that the scope has seen: the token of its newest holder, if that is exclusive. 0 where nobody has been.
 *
 * @throws FenceError SCHEMA_MISSING, SCHEMA_VERSION, INVALID_ARGUMENT, CONNECTION, RESOURCE
 *
 * @example
 * console.log(highest(database, 'jobs')); // 4711
 */
export function highest(database: SqliteDatabase, scope: string): number {
  checkDatabase(database);
  checkScope(scope);
  return during('read', () => floorOfRow(firstRow(database, STATEMENTS.look, scope)));
}

/** Of a database that is open. @throws FenceError SCHEMA_MISSING, SCHEMA_VERSION; and what the driver throws */
export function floorIn(database: SqliteDatabase, scope: string): number {
  return floorOfRow(rowOf(statementOf(database, STATEMENTS.look), scope));
}

function floorOfRow({ version, floor }: Row): number {
  if (version === undefined) throw missingSchema();
  if (Number(version) !== SCHEMA_VERSION) throw versionError(Number(version));
  return Number(floor ?? 0);
}
