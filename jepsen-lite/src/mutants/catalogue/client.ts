/** Planted bugs of the SDK. */

import type { Mutant } from '../mutant.ts';

const CLIENT = '@holdfast/client';

export const clientMutants: readonly Mutant[] = [
  {
    name: 'lease-counted-from-the-acknowledgement',
    breaks: 'the lease counts from when the renewing message was sent',
    patches: [
      {
        module: CLIENT,
        file: 'session/lease.js',
        edits: [
          {
            find: 'if (sentAt.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = sentAt;',
            replace: 'if (sentAt.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = instantOf(this.#clock);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'grant-handed-out-after-the-deadline',
    breaks: 'a grant is handed out under a lease that still runs',
    patches: [
      {
        module: CLIENT,
        file: 'locks/acquires.js',
        edits: [{ find: 'else if (this.remainingMs() > 0)', replace: 'else if (call !== undefined)' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'hold-believed-in-after-the-deadline',
    breaks: 'assertHeld throws once the lease may be over, even when timers are late',
    patches: [
      {
        module: CLIENT,
        file: 'locks/held-lock.js',
        edits: [
          {
            find: 'if (this.#lossReason === undefined && this.#keeper.remainingMs() <= 0)',
            replace: 'if (this.#lossReason !== undefined && this.#keeper.remainingMs() <= 0)',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    sample: true,
  },
  {
    name: 'grant-missed-over-a-fail-over',
    breaks: 'a waiter that was granted the lock while it had no connection learns of it when it attaches',
    patches: [
      {
        module: CLIENT,
        file: 'locks/acquires.js',
        edits: [
          {
            find: 'if (token !== 0) this.grantedByEnsemble(acquireIndex, token);',
            replace: 'void [token, acquireIndex];',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'timed-out-acquire-not-cancelled',
    breaks: 'an acquire that was given up leaves no waiter and no hold behind',
    patches: [
      {
        module: CLIENT,
        file: 'locks/acquire-call.js',
        edits: [
          {
            find: 'if (this.acquireIndex !== 0) this.#deps.keeper.cancel(this);',
            replace: 'void 0;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'unanswered-request-sent-under-a-new-number',
    breaks: 'a request that is sent again is the same request',
    patches: [
      {
        module: CLIENT,
        file: 'session/channels/request-pipeline.js',
        edits: [
          {
            find: 'for (const request of this.#unanswered.values()) this.#post(sink, request);',
            replace:
              'for (const request of [...this.#unanswered.values()]) { this.#unanswered.delete(request.number); this.#lastNumber += 1; request.number = this.#lastNumber; this.#unanswered.set(request.number, request); this.#post(sink, request); }',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
