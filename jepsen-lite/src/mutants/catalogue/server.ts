/** Planted bugs of the server around the state machine: leases, renewals, reads. */

import type { Mutant } from '../mutant.ts';

const LOCKD = '@holdfast/lockd';

export const serverMutants: readonly Mutant[] = [
  {
    name: 'renewal-acknowledged-by-a-follower',
    breaks: 'no server acknowledges a renewal that its leader has not heard of',
    patches: [
      {
        module: LOCKD,
        file: 'sessions/renewals.js',
        edits: [{ find: 'this.#sent.set(batch, heartbeats);', replace: 'this.#acknowledge(heartbeats, new Set());' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'expiry-not-re-armed-by-a-new-leader',
    breaks: 'a new leader counts the time of every session, so that those that are gone expire',
    patches: [
      {
        module: LOCKD,
        file: 'sessions/session-expiry.js',
        edits: [
          {
            find: 'else leases.start(state.sessions().filter(({ ending }) => !ending));',
            replace: 'else leases.start([]);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    sample: true,
  },
  {
    name: 'expiry-too-early-after-a-fail-over',
    breaks: 'a new leader gives every session its full time',
    patches: [
      {
        module: LOCKD,
        file: 'sessions/session-leases.js',
        edits: [
          {
            find: 'this.arm(session.id, session.timeoutMs);',
            replace: 'this.arm(session.id, session.timeoutMs / 2);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'secret-in-the-log',
    breaks: "the log holds the hash of a session's secret, and never the secret itself",
    patches: [
      {
        module: LOCKD,
        file: 'sessions/secret-hash.js',
        edits: [
          {
            find: "return createHash('sha256').update(secret).digest();",
            replace: 'void createHash; const padded = new Uint8Array(32); padded.set(secret); return padded;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'grant-not-sent',
    breaks: 'a waiter is notified when it is granted the lock',
    patches: [
      {
        module: LOCKD,
        file: 'port/output-routing.js',
        edits: [
          {
            find: 'this.#toSession(output.session, floor === undefined ? granted : { ...granted, floor });',
            replace: 'void [granted, floor];',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'late-batch-lost',
    breaks: 'what waits for clients that do not come is proposed when the time is up',
    patches: [
      {
        module: LOCKD,
        file: 'requests/batching/commit-batcher.js',
        edits: [
          {
            find: 'this.#backoff.failed(this.#deps.clock.monotonicMs());\n        this.#release();',
            replace: 'this.#backoff.failed(this.#deps.clock.monotonicMs());\n        this.#endBatch();',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'complete-batch-lost',
    breaks: 'what waited for clients is proposed when they have come',
    patches: [
      {
        module: LOCKD,
        file: 'requests/batching/commit-batcher.js',
        edits: [
          {
            find: 'this.#backoff.succeeded();\n        this.#release();',
            replace: 'this.#backoff.succeeded();\n        this.#endBatch();',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'batch-without-an-end',
    breaks: 'a proposal waits for clients for a moment only: one of them may wait for what it does',
    patches: [
      {
        module: LOCKD,
        file: 'requests/batching/commit-batcher.js',
        edits: [
          {
            find: 'this.#timer ??= this.#deps.clock.setTimer(this.#batchWaitMs, () => this.#late());',
            replace: 'void this.#late;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'lost-request-taken-for-a-copy',
    breaks: 'a request that is lost is under way no longer: when it is sent again it is no copy, and is answered',
    patches: [
      {
        module: LOCKD,
        file: 'requests/request-window.js',
        edits: [
          {
            find: 'this.#awaited = this.#lowest;\n        this.#forget();',
            replace: 'this.#awaited = this.#lowest;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'request-without-a-number-logged',
    breaks: 'a request without a number never becomes a log entry: no window would count it',
    patches: [
      {
        module: LOCKD,
        file: 'port/session-service.js',
        edits: [{ find: 'if (number < FIRST_NUMBER)', replace: 'if (number < 0)' }],
      },
      {
        module: LOCKD,
        file: 'requests/request-window.js',
        edits: [
          {
            find: "if (number < this.#lowest || this.covers(number) || this.#isAhead(number)) return 'drop';",
            replace:
              "if (number > 0 && (number < this.#lowest || this.covers(number) || this.#isAhead(number))) return 'drop';",
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'answered-request-logged-again',
    breaks: 'a request that was answered on its connection never becomes another log entry',
    patches: [
      {
        module: LOCKD,
        file: 'requests/request-window.js',
        edits: [
          {
            find: 'if (number < this.#lowest || this.covers(number) || this.#isAhead(number))',
            replace: 'if (this.covers(number))',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'copy-under-way-logged',
    breaks: 'a copy of a request that waits for its answer never becomes another log entry',
    patches: [
      {
        module: LOCKD,
        file: 'requests/request-window.js',
        edits: [
          {
            find: 'if (number < this.#lowest || this.covers(number) || this.#isAhead(number))',
            replace: 'if (number < this.#lowest || this.#isAhead(number))',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'correlations-of-the-process-before',
    breaks: 'an answer to what a server asked before it was restarted, of a peer or of the log, means nothing to it',
    patches: [
      {
        module: LOCKD,
        file: 'peers/correlation-ids.js',
        edits: [
          {
            find: 'this.#last = random.integer(FIRST_BELOW);',
            replace: 'this.#last = 0 * random.integer(FIRST_BELOW);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
