/** Planted bugs of what came with state version 5: delays of locks, floors, and holders who hear that others wait. */

import type { Mutant } from '../mutant.ts';
import { delayedLockMutants, NEVER_ARMED, SHOWN } from './delayed-locks.ts';
import type { UnitTestMutant } from './unit-tests.ts';

const STATE = '@holdfast/state';
const LOCKD = '@holdfast/lockd';
const CLIENT = '@holdfast/client';

export const lockDelayMutants: readonly Mutant[] = [
  {
    name: 'delayed-lock-granted',
    breaks: 'a delayed lock is granted to nobody',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [
          {
            find: 'const { lock, request } = acquire; if (lock.delay !== undefined) return false;',
            replace: 'const { lock, request } = acquire;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
    sample: true,
  },
  {
    name: 'try-waits-at-a-delayed-lock',
    breaks: 'whoever is not to wait is refused a delayed lock',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [
          {
            find: 'if (this.delay !== undefined) return false; return this.waiters.size === 0',
            replace: 'return this.waiters.size === 0',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'delay-after-a-release',
    breaks: 'what its owner gives back delays nothing',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'state.locks.remove(acquired, state.index);',
            replace:
              'state.locks.delay(acquired, state.index, state.stamp); state.locks.remove(acquired, state.index);',
          },
        ],
      },
    ],
    ...SHOWN,
  },
  {
    name: 'delay-after-a-close',
    breaks: 'who closes its session gives its locks back',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          { find: "if (reason !== 'closed') delayLocks(state, session);", replace: 'delayLocks(state, session);' },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'expiry-delays-nothing',
    breaks: 'a hold that is lost with its session delays its locks',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          {
            find: "if (reason !== 'closed') delayLocks(state, session);",
            replace: "if (reason === 'revoked') delayLocks(state, session);",
          },
        ],
      },
    ],
    ...SHOWN,
  },
  {
    name: 'idle-delayed-lock-forgotten',
    breaks: 'a lock for which nobody waits is delayed as any other',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [{ find: ' && this.delay === undefined;', replace: ';' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'delay-forgotten-on-restore',
    breaks: 'a restored lock is as delayed as it was',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-restore.js',
        edits: [{ find: 'delayed.restore(lock, delay);', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'any-end-ends-a-delay',
    breaks: 'the end of a delay counts only for the delay that it names',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'if (lock === undefined || lock.delay?.index !== index) return false;',
            replace: 'if (lock === undefined || lock.delay === undefined) return false;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'only-the-first-of-several-delayed',
    breaks: 'a hold of several locks that is lost delays each of them',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'for (const { lock } of acquire.parts ?? [acquire]) {',
            replace: 'for (const { lock } of [acquire.lead]) {',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'end-of-a-delay-grants-nobody',
    breaks: 'the entry that ends a delay grants the lock to the next',
    patches: [
      {
        module: STATE,
        file: 'commands/end-lock-delay.js',
        edits: [{ find: 'state.locks.grantPending(state.index, state.stamp, state.events);', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'floor-of-the-last-grant',
    breaks: 'a floor is not above the token of anybody who holds the lock',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [
          { find: 'return this.holders.first?.token ?? 0;', replace: 'return [...this.holders].at(-1)?.token ?? 0;' },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'floor-rises-unreported',
    breaks: 'a floor that rises is reported',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [{ find: 'if (floorBefore !== 0 && floor > floorBefore && floor < index)', replace: 'if (index < 0)' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'contention-at-a-grant-unreported',
    breaks: 'whoever is granted a lock hears of those who wait behind',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [{ find: 'if (lock.grantsAreNew && lock.waiters.size > 0)', replace: 'if (index < 0)' }],
      },
    ],
    caughtBy: ['properties'],
  },
  ...delayedLockMutants,
];

const DELAYS_TEST = 'packages/lockd/test/locks/lock-delays.test.ts';

/** Those that only the test of a unit is asked to notice: what a leader does by its clock, and what clients keep of it. */
export const lockDelayUnitTestMutants: readonly UnitTestMutant[] = [
  {
    name: 'delays-of-the-last-leader-forgotten',
    breaks: 'a new leader ends the delays that it finds',
    patches: [
      {
        module: LOCKD,
        file: 'locks/lock-delays.js',
        edits: [NEVER_ARMED],
      },
    ],
    test: { file: DELAYS_TEST, title: 'is delayed in full by a new leader' },
  },
  {
    name: 'end-of-a-delay-not-proposed-again',
    breaks: 'the end of a delay that could not be proposed is proposed again',
    patches: [
      {
        module: LOCKD,
        file: 'locks/lock-delays.js',
        edits: [{ find: 'this.#office?.retry(refused);', replace: 'void refused;' }],
      },
    ],
    test: { file: DELAYS_TEST, title: 'is freed when the end can be proposed that could not be for a while' },
  },
  {
    name: 'floors-told-without-a-rest',
    breaks: 'holders of one lock are told of it ten times a second at most',
    patches: [
      {
        module: LOCKD,
        file: 'locks/hold-news.js',
        edits: [{ find: 'over ? HOLD_NEWS_INTERVAL_MS : HOLD_NEWS_PAUSE_MS', replace: 'HOLD_NEWS_PAUSE_MS' }],
      },
    ],
    test: {
      file: 'packages/lockd/test/locks/hold-news.test.ts',
      title: 'is told at most so often, and as it is then',
    },
  },
  {
    name: 'floor-falls',
    breaks: 'the floor of a hold never falls',
    patches: [
      {
        module: CLIENT,
        file: 'locks/held/hold-news.js',
        edits: [{ find: 'this.#floor = Math.max(this.#floor, floor);', replace: 'this.#floor = floor;' }],
      },
    ],
    test: {
      file: 'packages/client/test/locks/hold-news.test.ts',
      title: 'is the lowest of those who hold the lock together, rises as it is told, and never falls',
    },
  },
];
