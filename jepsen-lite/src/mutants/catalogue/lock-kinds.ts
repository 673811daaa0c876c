/** Planted bugs of locks that several may hold, or one several times. */

import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';

export const lockKindMutants: readonly Mutant[] = [
  {
    name: 'writer-beside-readers',
    breaks: 'a writer holds its lock alone',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/read-write.js',
        edits: [
          { find: "(mode === 'read' && first.request.mode === 'read')", replace: "first.request.mode === 'read'" },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    shownBy: { workload: 'read-write' },
  },
  {
    name: 'reader-overtakes-a-writer',
    breaks: 'nobody overtakes who waits, whatever it asks for',
    patches: [
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [{ find: 'this.waiters.size === 0 && ', replace: '' }],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    shownBy: { workload: 'read-write' },
  },
  {
    name: 'reader-is-upgraded',
    breaks: 'a hold never asks for more than it did: two who do wait for each other for ever',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/read-write.js',
        edits: [{ find: "return mode === 'read' ?", replace: "return mode !== 'none' ?" }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'downgrade-grants-nobody',
    breaks: 'a hold that asks for less makes room for others in the same entry',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'state.locks.convert(acquired, request, packRequest(kind, request)); state.locks.grantPending(lock, state.index, state.stamp, state.events);',
            replace: 'state.locks.convert(acquired, request, packRequest(kind, request));',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'one-permit-too-many',
    breaks: 'no more permits are out than there are',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/semaphore.js',
        edits: [{ find: 'taken + count <= permits', replace: 'taken + count <= permits + 1' }],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    shownBy: { workload: 'semaphore' },
  },
  {
    name: 'permits-given-back-stay-taken',
    breaks: 'permits that were given back are free',
    patches: [
      {
        module: STATE,
        file: 'locks/shared-holders.js',
        edits: [{ find: 'this.#taken += this.#share(request) - this.#share(holder.request);', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'semaphore-of-any-size',
    breaks: 'all who use a semaphore at one time mean one number of permits',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/semaphore.js',
        edits: [{ find: 'inUse.permits === permits', replace: 'permits > 0' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'entry-of-another-session',
    breaks: 'an owner is one of its session: the same number elsewhere is another',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [{ find: 'holder.session === session ?', replace: 'holder.session.id > 0 ?' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'entry-released-twice',
    breaks: 'a reentrant lock is free when its owner has left it as often as it has entered',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [{ find: 'if (entries > 1) {', replace: 'if (entries > 2) {' }],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    shownBy: { workload: 'reentrant' },
  },
  {
    name: 'entries-without-a-limit',
    breaks: 'an owner enters up to the limit',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [{ find: 'if (entries >= most) {', replace: 'if (entries > most) {' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'revocation-raises-nobody',
    breaks: 'beside a hold that an operator has taken away nobody keeps a lower token',
    patches: [
      {
        module: STATE,
        file: 'commands/revoke.js',
        edits: [{ find: 'if (acquire.token !== 0)', replace: 'if (acquire.token === 0)' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'floor-raised-in-silence',
    breaks: 'whoever shares a lock is told when its floor rises',
    patches: [
      {
        module: STATE,
        file: 'locks/shared-holders.js',
        edits: [{ find: 'const risen = floor !== 0 && floor !== this.#toldFloor;', replace: 'const risen = false;' }],
      },
    ],
    caughtBy: ['properties'],
  },
];
