/** Planted bugs of the server around the state machine: leases, renewals, reads. */

import type { Mutant } from '../mutant.ts';

const LOCKD = '@holdfast/lockd';

export const serverMutants: readonly Mutant[] = [
  {
    name: 'expiry-not-re-armed-by-a-new-leader',
    breaks: 'a new leader counts the time of every session, so that those that are gone expire',
    patches: [
      {
        module: LOCKD,
        file: 'session-expiry.js',
        edits: [{ find: 'this.leases.start(this.#deps.state.sessions());', replace: 'this.leases.start([]);' }],
      },
    ],
    caughtBy: ['simulation'],
    sample: true,
  },
  {
    name: 'grant-not-told',
    breaks: 'a waiter is told when it is granted the lock',
    patches: [
      {
        module: LOCKD,
        file: 'output-routing.js',
        edits: [
          {
            find: "this.#toSession(output.session, { type: 'granted', index, lock, acquireIndex, token });",
            replace: 'void [index, lock, acquireIndex, token];',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
