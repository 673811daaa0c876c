export { hasMariaDb, prepareMariaDb } from './mariadb.ts';
export { postgresPrograms, preparePostgres } from './postgresql.ts';
export type { PreparedServer } from './prepared-server.ts';
export { hasRedis, prepareRedis } from './redis.ts';
export { runServer, type RunningServer, type RunOptions } from './running-server.ts';
