/** A MariaDB server of its own: Debian's package, its data in a temporary directory, on 127.0.0.1 and a free port. */

import { hasMariaDb, prepareMariaDb, runServer, type RunningServer } from '@holdfast/database-servers';
import mysql from 'mysql2/promise';

export { hasMariaDb };

export interface MariaDb extends RunningServer {
  /** Of the user that may do everything, on a database. */
  config(database?: string): mysql.PoolOptions;
}

// What the system has written is kept when a process is killed; a power loss is no part of these tests.
const SETTINGS = ['innodb-flush-log-at-trx-commit=2', 'innodb-buffer-pool-size=32M', 'performance-schema=OFF'];

export async function startMariaDb(): Promise<MariaDb> {
  const prepared = await prepareMariaDb(SETTINGS);
  const config = (database?: string): mysql.PoolOptions => ({
    host: '127.0.0.1',
    port: prepared.port,
    user: 'root',
    ...(database !== undefined && { database }),
  });
  const server = await runServer(prepared, { name: 'MariaDB', serves: () => answers(config()) });
  return { ...server, config };
}

async function answers(config: mysql.PoolOptions): Promise<boolean> {
  try {
    const connection = await mysql.createConnection(config);
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
