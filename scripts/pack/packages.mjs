// What is published. Packages of the workspace that are not here are bundled into those that use them.

/**
 * @typedef {object} PublicPackage
 * @property {string} folder below `packages`
 * @property {'library' | 'program'} kind a library is CommonJS with an ES module over it, a program one ES module
 * @property {readonly string[]} keywords
 * @property {Readonly<Record<string, string>>} [threads] what the code starts beside itself, and the source that it is made of
 * @property {readonly string[]} [peers] packages of the workspace that stay packages, since both sides must use one copy of them
 */

const KEYWORDS = ['lock', 'distributed-lock', 'fencing-token', 'holdfast'];

/** @type {readonly PublicPackage[]} */
export const PUBLIC_PACKAGES = [
  {
    folder: 'client',
    kind: 'library',
    threads: { './main.js': 'src/heartbeat-thread/main.ts' },
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
  { folder: 'lockd', kind: 'program', keywords: [...KEYWORDS, 'raft', 'consensus', 'server', 'coordination'] },
  { folder: 'lockctl', kind: 'program', keywords: [...KEYWORDS, 'cli', 'operations'] },
  { folder: 'fenced-kv', kind: 'program', keywords: [...KEYWORDS, 'key-value-store', 'fencing', 'lmdb', 'server'] },
];

/** Versions that differ from a caret on what the workspace has. */
export const RANGES = {
  // Whole frames are read past ws, which rests on how it listens to its socket: only patches are trusted unseen.
  ws: (version) => `~${version}`,
};
