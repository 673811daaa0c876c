/** Planted bugs between the product and the operating system, which every simulation replaces. */

import type { LiveMutant } from './live-mutant.ts';

const RUNTIME = '@holdfast/runtime';
const DISK_FILE = 'node/disk/disk-file.js';
const DISK = 'node/disk/disk.js';
const LOCK = 'node/disk/directory-lock.js';

/** What servers that have lost what they acknowledged show, by whoever notices it first. */
const LOST = [
  /^log: (the-logs-agree|what-was-acknowledged-is-there|the-entries-keep-the-promises|entries-follow-real-time): /,
  /^history: (tokens|registers|linearizable-locks|granted-tokens|expiry): /,
];

export const LIVE_MUTANTS: readonly LiveMutant[] = [
  {
    name: 'append-without-o-dsync',
    breaks: 'an append is on the disk when it ends',
    patches: [
      {
        module: RUNTIME,
        file: DISK_FILE,
        edits: [{ find: 'constants.O_RDWR | constants.O_DSYNC', replace: 'constants.O_RDWR' }],
      },
    ],
    caughtBy: 'durability',
    whole: { run: 'power loss of all servers', as: LOST },
  },
  {
    name: 'sync-does-nothing',
    breaks: 'what was written before a sync is on the disk when the sync ends',
    patches: [
      {
        module: RUNTIME,
        file: DISK_FILE,
        edits: [{ find: 'this.#plain.datasync()', replace: 'Promise.resolve()' }],
      },
    ],
    caughtBy: 'durability',
    whole: {
      hidden: 'in a run of seconds nothing depends on such a sync: the first snapshot comes after 1 MiB of log',
    },
  },
  {
    name: 'directory-sync-does-nothing',
    breaks: 'a new name of a file is on the disk when its directory was synced',
    patches: [{ module: RUNTIME, file: DISK, edits: [{ find: 'await handle.sync();', replace: '' }] }],
    caughtBy: 'durability',
    whole: { hidden: 'ext4 commits the name together with the next write of a server that is synced' },
  },
  {
    name: 'parent-directories-not-synced',
    breaks: 'a data directory is found again after a power failure, with its parents',
    patches: [{ module: RUNTIME, file: DISK, edits: [{ find: 'await syncDirectory(dirname(made));', replace: '' }] }],
    caughtBy: 'durability',
    whole: { hidden: 'ext4 commits the name together with the next write of a server that is synced' },
  },
  {
    name: 'kernel-write-error-swallowed',
    breaks: 'a write that the kernel refused is not called done',
    patches: [
      {
        module: RUNTIME,
        file: DISK_FILE,
        edits: [{ find: 'reject(diskError(action, this.path, error));', replace: 'resolve();' }],
      },
    ],
    caughtBy: 'disk-errors',
    whole: { run: 'a failing write, then a kill', as: [/^no-unforeseen-error-in-a-log: .*acknowledged log is lost/] },
  },
  {
    name: 'kernel-sync-error-swallowed',
    breaks: 'a sync that the kernel refused is not called done',
    patches: [
      {
        module: RUNTIME,
        file: DISK_FILE,
        edits: [{ find: 'this.#plain.datasync()', replace: 'this.#plain.datasync().catch(() => undefined)' }],
      },
    ],
    caughtBy: 'disk-errors',
    whole: { hidden: 'a server syncs what it needs again by its next append, before the power can fail' },
  },
  {
    name: 'free-space-of-an-empty-disk',
    breaks: 'a server knows that its disk is full before a write fails',
    patches: [
      { module: RUNTIME, file: DISK, edits: [{ find: '{ bavail, bsize }', replace: '{ blocks: bavail, bsize }' }] },
    ],
    caughtBy: 'disk-errors',
    whole: { hidden: 'a server may end when its disk is full, and a run takes that for the fault' },
  },
  {
    name: 'full-disk-taken-for-a-broken-one',
    breaks: 'a write to a full disk is told from one that the disk cannot do',
    patches: [
      { module: RUNTIME, file: 'node/disk/disk-errors.js', edits: [{ find: "['ENOSPC', 'NO_SPACE'],", replace: '' }] },
    ],
    caughtBy: 'disk-errors',
    whole: { hidden: 'only the words of the message differ' },
  },
  {
    name: 'files-open-to-others',
    breaks: 'no other user of the machine may look into what a server stores',
    patches: [
      {
        module: RUNTIME,
        file: 'node/disk/directory-access.js',
        edits: [{ find: 'PRIVATE_FILE_MODE = 0o600', replace: 'PRIVATE_FILE_MODE = 0o666' }],
      },
    ],
    caughtBy: 'disk-errors',
    whole: { run: 'a kill', as: [/^what-is-stored-is-private: /] },
  },
  {
    name: 'directory-lock-ignored',
    breaks: 'two servers never write to one directory',
    patches: [
      { module: RUNTIME, file: LOCK, edits: [{ find: 'await waitForOthers(path, descriptor, name);', replace: '' }] },
    ],
    caughtBy: 'directory-lock',
    whole: { run: 'a second start of a stopped server', as: [/^one-process-has-a-directory: /] },
  },
  {
    name: 'stopped-holder-taken-for-dead',
    breaks: 'a server that is stopped keeps its directory',
    patches: [
      {
        module: RUNTIME,
        file: LOCK,
        edits: [
          {
            find: 'setTimeout(() => finish(HOLDS), ANSWER_TIMEOUT_MS)',
            replace: "setTimeout(() => finish('dead'), ANSWER_TIMEOUT_MS)",
          },
        ],
      },
    ],
    caughtBy: 'directory-lock',
    whole: { run: 'a second start of a stopped server', as: [/^one-process-has-a-directory: /] },
  },
  {
    name: 'dead-holder-keeps-the-directory',
    breaks: 'a server that was killed can be started again',
    patches: [
      {
        module: RUNTIME,
        file: LOCK,
        edits: [{ find: "if (errno === 'ECONNREFUSED' || errno === 'ENOENT')", replace: "if (errno === 'ENOENT')" }],
      },
    ],
    caughtBy: 'directory-lock',
    whole: { run: 'a kill', as: [/^processes-end-only-by-faults: s\d ended: exit code 68/] },
  },
  {
    name: 'monotonic-clock-by-the-wall-clock',
    breaks: 'sessions live and expire by the monotonic clock',
    patches: [
      {
        module: RUNTIME,
        file: 'node/clock.js',
        edits: [{ find: 'monotonicMs: () => performance.now()', replace: 'monotonicMs: () => Date.now()' }],
      },
    ],
    caughtBy: 'wrong-clocks',
    whole: { run: 'wall clocks that jump back', as: [/^processes-end-only-by-faults: s\d ended: exit code 69/] },
  },
  {
    name: 'timers-by-the-wall-clock',
    breaks: 'a timer fires in time when the wall clock jumps back',
    patches: [
      {
        module: RUNTIME,
        file: 'node/clock.js',
        edits: [
          { find: 'const dueMs = performance.now() + delayMs;', replace: 'const dueMs = Date.now() + delayMs;' },
          { find: 'dueMs - performance.now();', replace: 'dueMs - Date.now();' },
        ],
      },
    ],
    caughtBy: 'wrong-clocks',
    whole: { run: 'wall clocks that jump back', as: [/^(the-healed-cluster-works|every-call-ends): /] },
  },
  {
    name: 'late-timer-trusted',
    breaks: 'a holder that was stopped does not believe in its lock before its timers have fired',
    patches: [
      {
        module: '@holdfast/client',
        file: 'locks/held-lock.js',
        edits: [
          {
            find: 'if (this.#lossReason === undefined && this.#keeper.remainingMs() <= 0) this.#keeper.lapsed();',
            replace: '',
          },
        ],
      },
    ],
    caughtBy: 'late-holder',
    whole: { run: 'pauses of a holder', as: [/^history: (belief|exclusion): /] },
  },
  {
    name: 'fence-removed',
    breaks: 'a resource refuses a token that is lower than one that it has seen',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'fence.js',
        edits: [
          {
            find: "if (token < highest) return { pass: false, refusal: { code: 'STALE_TOKEN', presented: token, highest } };",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: 'fenced-writes',
    whole: { run: 'pauses of a careless holder', as: [/^history: fence: /] },
  },
  {
    name: 'store-without-sync',
    breaks: 'a write that the fenced store acknowledged survives a power failure',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'engines/lmdb-engine.js',
        edits: [{ find: 'cache: false,', replace: 'cache: false, noSync: true,' }],
      },
    ],
    caughtBy: 'fenced-writes',
    whole: { run: 'power loss of the store', as: [/^history: /] },
  },
  {
    name: 'connections-left-open',
    breaks: 'a server that is told to stop ends',
    patches: [
      {
        module: RUNTIME,
        file: 'node/listener.js',
        edits: [{ find: 'server.closeAllConnections();', replace: '' }],
      },
    ],
    caughtBy: 'stopping',
    whole: { hidden: 'nobody in a run is in the middle of a request for as long as a server may take to stop' },
  },
  {
    name: 'stop-signal-not-heeded',
    breaks: 'a server that is told to stop ends in order',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'main.js',
        edits: [{ find: "process.on('SIGTERM', onSignal);", replace: '' }],
      },
    ],
    caughtBy: 'stopping',
    whole: { run: 'a stop', as: [/^processes-end-only-by-faults: s\d ended: (signal )?SIGTERM/] },
  },
];
