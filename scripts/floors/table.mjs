// Who may import whom. A package imports only from lower floors; `only` narrows that further for its sources.
// A new package needs a line here before it can be built.

const scope = (names) => names.map((name) => `@holdfast/${name}`);

export const PACKAGES = {
  '@holdfast/runtime': { floor: 0, only: [] },
  '@holdfast/protocol': { floor: 0, only: [] },
  '@holdfast/raft': { floor: 1, only: scope(['runtime', 'protocol']) },
  '@holdfast/state': { floor: 1, only: scope(['protocol']) },
  '@holdfast/client': { floor: 1, only: scope(['runtime', 'protocol']) },
  '@holdfast/lockd': { floor: 2, only: scope(['runtime', 'protocol', 'raft', 'state']) },
  '@holdfast/lockctl': { floor: 2, only: scope(['runtime', 'protocol', 'client']) },
  '@holdfast/fenced-kv-client': { floor: 1, only: scope(['runtime']) },
  '@holdfast/fenced-kv': { floor: 2, only: scope(['runtime', 'client']) },
  '@holdfast/database-servers': { floor: 0, only: [] },
  '@holdfast/fence': { floor: 1, only: scope(['runtime']) },
  '@holdfast/fence-conformance': { floor: 2, only: scope(['fence']) },
  '@holdfast/fence-sql': { floor: 2, only: scope(['fence']) },
  '@holdfast/fence-postgresql': { floor: 3, only: scope(['fence', 'fence-sql']) },
  '@holdfast/fence-mysql': { floor: 3, only: scope(['fence', 'fence-sql']) },
  '@holdfast/fence-sqlite': { floor: 3, only: scope(['fence']) },
  '@holdfast/fence-redis': { floor: 3, only: scope(['fence']) },
  '@holdfast/fence-manifest': { floor: 2, only: scope(['fence']) },
  '@holdfast/fence-s3': { floor: 3, only: scope(['fence', 'fence-manifest']) },
  '@holdfast/fence-files': { floor: 3, only: scope(['fence', 'fence-manifest']) },
  '@holdfast/fence-http': { floor: 4, only: scope(['fence', 'fence-files']) },
  '@holdfast/ensemble': { floor: 4 },
  '@holdfast/testing': { floor: 3, simulation: true },
  '@holdfast/opentelemetry': { floor: 4, only: scope(['client']) },
  '@holdfast/jepsen-lite': { floor: 5, simulation: true },
  '@holdfast/bench': { floor: 5 },
  '@holdfast/examples': { floor: 5 },
};

// Packages up to this floor are loaded whole at the start of a program: none of them may import anything later.
export const HIGHEST_SERVING_FLOOR = 2;

// Folders that are pure: nothing may be imported but what is named here and files of the folder itself.
export const PURE_FOLDERS = [
  { folder: 'packages/raft/src/core', packages: [] },
  { folder: 'packages/state/src', packages: ['@holdfast/protocol'] },
];

// Folders within a package that have floors of their own, the lowest first: a file imports from its own folder and from lower ones.
// What lies in the upper folder itself is above all of them.
export const FOLDER_FLOORS = [
  {
    folder: 'packages/raft/src/log-store',
    floors: [
      ['errors', 'files'],
      ['contract'],
      ['format'],
      ['segments', 'snapshots'],
      ['recovery'],
      ['wal'],
      ['directory'],
    ],
  },
  {
    // A workload, a nemesis and a checker know nothing of the system that they are used on.
    folder: 'jepsen-lite/src',
    floors: [
      ['history', 'plan', 'cores', 'patches'],
      ['models'],
      ['checkers', 'properties'],
      ['nemeses', 'workloads'],
      ['scenario'],
      ['report'],
      ['targets'],
      ['campaigns', 'check', 'resource'],
      ['mutants'],
      ['explore'],
    ],
  },
];

// Folders that only the named ones may import: what speaks one protocol over the session port, and what puts the parts together.
export const PRIVATE_FOLDERS = [{ folder: 'packages/lockd/src/fronts', importers: ['packages/lockd/src/machine'] }];

// The deterministic runtime; only packages with `simulation` and tests may load it.
export const SIMULATION = { specifier: '@holdfast/runtime/sim', folder: 'packages/runtime/src/sim' };
