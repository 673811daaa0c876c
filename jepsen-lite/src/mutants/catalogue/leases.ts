/** Planted bugs of what renews a lease: from when it counts at the client, and that it counts at the server. */

import type { Mutant } from '../mutant.ts';

const CLIENT = '@holdfast/client';
const LOCKD = '@holdfast/lockd';

export const leaseMutants: readonly Mutant[] = [
  {
    name: 'attach-counted-from-its-answer',
    breaks: 'an attach renews the lease from when it was sent',
    patches: [
      {
        module: CLIENT,
        file: 'session/session.js',
        edits: [
          {
            find: 'this.lease.renew(sentAt); this.lease.follow(',
            replace:
              'void sentAt; this.lease.renew({ monotonicMs: this.clock.monotonicMs(), wallMs: this.clock.wallMs() }); this.lease.follow(',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'renewal-taken-for-that-of-the-newest-heartbeat',
    breaks: 'a renewal counts from when the very heartbeat was sent that it acknowledges',
    patches: [
      {
        module: CLIENT,
        file: 'session/heartbeats.js',
        edits: [
          {
            find: 'const sentAt = this.#sentAt.get(id);',
            replace: 'const sentAt = [...this.#sentAt.values()].at(-1);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'attach-does-not-renew',
    breaks: 'an attach is a sign of life',
    patches: [
      {
        module: LOCKD,
        file: 'port/output-routing.js',
        edits: [
          {
            find: "if (reply.type === 'attached') this.#deps.leases.renew(reply.session);",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
