/** Planted bugs of the SDK. */

import type { Mutant } from '../mutant.ts';

const CLIENT = '@holdfast/client';

export const clientMutants: readonly Mutant[] = [
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
    name: 'unanswered-request-sent-under-a-new-number',
    breaks: 'a request that is sent again is the same request',
    patches: [
      {
        module: CLIENT,
        file: 'session/request-pipeline.js',
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
