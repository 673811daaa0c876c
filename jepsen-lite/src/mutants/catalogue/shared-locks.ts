/**
 * Planted bugs of what came with state version 4: locks that several hold together, several locks that are taken at once, and locks that their
 * owner enters again.
 */

import type { Mutant } from '../mutant.ts';
import type { UnitTestMutant } from './unit-tests.ts';

const STATE = '@holdfast/state';
const CLIENT = '@holdfast/client';

const REENTRANT_TEST = 'packages/client/test/locks/reentrant-lock.test.ts';

export const sharedLockMutants: readonly Mutant[] = [
  {
    name: 'reader-overtakes-a-waiting-writer',
    breaks: 'who is to read behind one who waits to write waits for that one',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [
          {
            find: 'return lock.waiters.first === acquire && lock.kind.mayJoin(lock.holders, request);',
            replace:
              "return (lock.waiters.first === acquire || (request.type === 'readWrite' && !request.write)) && lock.kind.mayJoin(lock.holders, request);",
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'writer-joins-readers',
    breaks: 'who writes holds the lock alone',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/read-write.js',
        edits: [
          {
            find: '(!request.write && !holders.first.request.write)',
            replace: '!holders.first.request.write',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
    sample: true,
  },
  {
    name: 'one-reader-at-a-time',
    breaks: 'all readers at the head of a queue are granted the lock by one entry',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'for (const part of head.parts ?? []) if (part.lock !== lock) this.#touch(part.lock);',
            replace:
              'for (const part of head.parts ?? []) if (part.lock !== lock) this.#touch(part.lock); if (lock.waiters.first !== undefined) break;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'semaphore-off-by-one',
    breaks: 'all who hold a semaphore have no more permits than there are',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/semaphore.js',
        edits: [{ find: 'holders.weight + permits <= limit', replace: 'holders.weight + permits <= limit + 1' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'permits-forgotten-on-restore',
    breaks: 'a restored holder has as many permits as it was granted',
    patches: [
      {
        module: STATE,
        file: 'locks/acquire-list.js',
        edits: [
          {
            find: 'this.#weight += acquire.weight;',
            replace: 'this.#weight += acquire.restored ? 1 : acquire.weight;',
          },
        ],
      },
      {
        module: STATE,
        file: 'locks/lock-restore.js',
        edits: [
          {
            find: 'const lead = siblings.get(index);',
            replace: 'acquire.restored = true; const lead = siblings.get(index);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'another-number-of-permits-accepted',
    breaks: 'a semaphore has one number of permits for as long as somebody uses it',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/semaphore.js',
        edits: [{ find: 'limit === present.limit ? undefined', replace: 'present.limit > 0 ? undefined' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'downgrade-grants-nobody',
    breaks: 'a downgrade grants the lock to those who wait to read, in the same entry',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'state.locks.change(hold, request, packRequest(kind, request)); state.locks.grantPending(state.index, state.stamp, state.events);',
            replace: 'state.locks.change(hold, request, packRequest(kind, request));',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'downgrade-takes-a-new-token',
    breaks: 'a downgraded hold keeps its token',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'state.locks.change(hold, request, packRequest(kind, request));',
            replace: 'state.locks.change(hold, request, packRequest(kind, request)); hold.token = state.index;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'several-granted-when-one-is-ready',
    breaks: 'several locks are granted when their acquire is at the head of every queue',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [{ find: 'this.parts.every(isNext)', replace: 'this.parts.some(isNext)' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'second-of-several-not-released',
    breaks: 'who releases one of several locks that were taken at once releases all of them',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'else for (const part of parts) this.#leave(part, index);',
            replace: 'else this.#leave(parts[0], index);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'grant-of-several-looks-at-one-queue',
    breaks: 'the entry that grants several locks looks at who is next at each of them',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'for (const part of head.parts ?? []) if (part.lock !== lock) this.#touch(part.lock);',
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'grants-between-revocations',
    breaks: 'a transaction that takes several waits and holds away grants when all of them are gone',
    patches: [
      {
        module: STATE,
        file: 'commands/nodes/commit.js',
        edits: [
          {
            find: 'if (!state.rules.grantsComeLast) state.locks.grantPending(state.index, state.stamp, state.events);',
            replace: 'state.locks.grantPending(state.index, state.stamp, state.events);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'revoked-without-a-word',
    breaks: 'a session is told of what an operator takes away from it',
    patches: [
      {
        module: STATE,
        file: 'commands/revoke.js',
        edits: [
          {
            find: "state.events.push({ type: 'lost', session: session.id, lock: lead.lock.name, acquireIndex, reason: 'revoked' });",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'waits-cannot-be-revoked',
    breaks: 'an operator can revoke who waits as well as who holds',
    patches: [
      {
        module: STATE,
        file: 'commands/revoke.js',
        edits: [{ find: 'of [lock.holders, lock.waiters])', replace: 'of [lock.holders])' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 're-entry-released-by-the-first-release',
    breaks: 'a lock that was entered several times is given back with the last release',
    patches: [
      {
        module: CLIENT,
        file: 'locks/reentrant/reentrant-hold.js',
        edits: [{ find: 'if (this.#entries.size > 0) return false;', replace: '' }],
      },
    ],
    caughtBy: ['simulation'],
    shownBy: { workload: 'reentrant', checker: 'entries' },
  },
];

/** Those that only the test of a unit is asked to notice: that a lease runs out under a session that lives on is rare. */
export const sharedLockUnitTestMutants: readonly UnitTestMutant[] = [
  {
    name: 're-entry-after-a-loss-becomes-a-new-grant',
    breaks: 'a lock whose entries were lost is acquired anew only when each of them has been released',
    patches: [
      {
        module: CLIENT,
        file: 'locks/reentrant-lock.js',
        edits: [
          {
            find: 'if (this.#hold?.lossReason !== undefined) throw this.#lost(this.#hold.lossReason, this.#hold.entries);',
            replace: 'if (this.#hold?.lossReason !== undefined) this.#hold = undefined;',
          },
        ],
      },
    ],
    test: {
      file: REENTRANT_TEST,
      title: 'is lost by every entry, and is acquired anew only when each has been released',
    },
  },
];
