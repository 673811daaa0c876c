// What is published. Packages of the workspace that are not here are bundled into those that use them.

/**
 * @typedef {object} PublicPackage
 * @property {string} folder below `packages`
 * @property {string} [name] without the scope, where it is not that of the folder
 * @property {'library' | 'program'} kind a library is CommonJS with an ES module over it, a program one ES module
 * @property {readonly string[]} keywords
 * @property {readonly string[]} [threads] sources of the package that run in a thread of their own: files of their own beside the bundle
 * @property {readonly string[]} [peers] packages of the workspace that stay packages, since both sides must use one copy of them
 */

const KEYWORDS = ['lock', 'distributed-lock', 'fencing-token', 'holdfast'];

/** @type {readonly PublicPackage[]} */
export const PUBLIC_PACKAGES = [
  {
    folder: 'client',
    kind: 'library',
    threads: ['src/heartbeat-thread/heartbeat-thread.ts'],
    keywords: [...KEYWORDS, 'mutex', 'lease', 'leader-election', 'coordination', 'zookeeper', 'redlock'],
  },
  {
    folder: 'testing',
    kind: 'library',
    keywords: [...KEYWORDS, 'testing', 'in-memory', 'simulation', 'jest', 'vitest'],
    // A test hands its clients to the code under test, which knows the class and the errors of its own copy.
    peers: ['@holdfast/client'],
  },
  {
    folder: 'opentelemetry',
    kind: 'library',
    keywords: [...KEYWORDS, 'opentelemetry', 'tracing', 'metrics'],
    peers: ['@holdfast/client'],
  },
  { folder: 'fenced-kv-client', kind: 'library', keywords: [...KEYWORDS, 'key-value-store', 'fencing'] },
  { folder: 'fences/core', name: 'fence', kind: 'library', keywords: [...KEYWORDS, 'fencing', 'fence'] },
  {
    folder: 'fences/conformance',
    name: 'fence-conformance',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'testing', 'conformance'],
  },
  {
    folder: 'fences/postgresql',
    name: 'fence-postgresql',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'postgresql', 'postgres', 'pg'],
  },
  {
    folder: 'fences/mysql',
    name: 'fence-mysql',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'mysql', 'mariadb', 'mysql2'],
  },
  {
    folder: 'fences/sqlite',
    name: 'fence-sqlite',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'sqlite', 'better-sqlite3', 'libsql'],
  },
  {
    folder: 'fences/redis',
    name: 'fence-redis',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'redis', 'valkey', 'ioredis', 'redlock'],
  },
  {
    folder: 'fences/s3',
    name: 'fence-s3',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 's3', 'object-storage', 'conditional-writes'],
  },
  {
    folder: 'fences/files',
    name: 'fence-files',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'files', 'lock-file', 'flock'],
  },
  {
    folder: 'fences/http',
    name: 'fence-http',
    kind: 'library',
    keywords: [...KEYWORDS, 'fencing', 'http', 'middleware', 'express', 'fastify', 'hono'],
  },
  { folder: 'lockd', kind: 'program', keywords: [...KEYWORDS, 'raft', 'consensus', 'server', 'coordination'] },
  { folder: 'lockctl', kind: 'program', keywords: [...KEYWORDS, 'cli', 'operations'] },
  { folder: 'fenced-kv', kind: 'program', keywords: [...KEYWORDS, 'key-value-store', 'fencing', 'lmdb', 'server'] },
];

/** What it is called without its scope: on the command line, and where it is put. */
export const nameOf = ({ folder, name = folder }) => name;

/** Versions that differ from a caret on what the workspace has. */
export const RANGES = {
  // Whole frames are read past ws, which rests on how it listens to its socket: only patches are trusted unseen.
  ws: (version) => `~${version}`,
};
