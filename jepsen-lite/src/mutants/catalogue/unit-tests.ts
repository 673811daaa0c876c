/**
 * Planted bugs that the test of a unit must notice, since the simulation comes across what they take too seldom: a write or a message at
 * the very moment. `node scripts/named-cases.mjs units` plants them into what the tests load.
 */

import type { Mutant } from '../mutant.ts';

export interface UnitTestMutant extends Omit<Mutant, 'caughtBy' | 'sample'> {
  readonly test: { readonly file: string; readonly title: string };
}

export const unitTestMutants: readonly UnitTestMutant[] = [
  {
    name: 'restore-beside-a-taking',
    breaks: 'a received snapshot takes the place of the state when the one that is being taken has let that go',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'snapshots/replica-snapshots.js',
        edits: [
          {
            find: 'await this.#taking; if (this.#stopped) return; this.#adopt(index, state);',
            replace: 'if (this.#stopped) return; this.#adopt(index, state);',
          },
        ],
      },
    ],
    test: {
      file: 'packages/raft/test/snapshots/replica-snapshots-turns.test.ts',
      title: 'is adopted when the one that is being taken has let the machine go, and leaves no file of that',
    },
  },
  {
    name: 'transfer-ends-with-the-leadership',
    breaks: 'a snapshot that is being sent goes on when another server leads',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'snapshots/replica-snapshots.js',
        edits: [{ find: 'if (this.#goesOn(peer, sending)) continue;', replace: '' }],
      },
    ],
    test: {
      file: 'packages/raft/test/snapshots/replica-snapshots.test.ts',
      title: 'goes on with a transfer when another server leads, and when its sender leads again',
    },
  },
  {
    name: 'newest-leader-interrupts-a-transfer',
    breaks: 'a snapshot that arrives is taken to its end when the new leader, too, could go on behind it',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'snapshots/snapshot-receiver.js',
        edits: [
          {
            find: 'if (partial.from !== peer && this.#arrives(partial) && index >= offer.logBase)',
            replace: 'if (false)',
          },
        ],
      },
    ],
    test: {
      file: 'packages/raft/test/snapshots/snapshot-receiver.test.ts',
      title: 'goes on with what arrives when another leader comes, whose log begins no later',
    },
  },
  {
    name: 'answer-taken-for-those-of-lower-requests',
    breaks: 'a request that is answered before lower ones answers none of them',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'requests/request-window.js',
        edits: [{ find: '(this.#ahead ??= new Set()).add(number);', replace: 'this.#lowest = number + 1;' }],
      },
    ],
    test: {
      file: 'packages/lockd/test/requests/request-window.test.ts',
      title: 'leaves those for the client to send again',
    },
  },
  {
    name: 'read-over-a-truncation',
    breaks: 'a read of the log that a truncation overtakes is made anew',
    patches: [
      {
        module: '@holdfast/raft',
        file: 'log-store/wal/entry-reader.js',
        edits: [{ find: 'if (truncations === spans.truncations) return entries;', replace: 'return entries;' }],
      },
    ],
    test: {
      file: 'packages/raft/test/log-store/wal/entry-reader.test.ts',
      title: 'is made anew when a truncation comes while bytes are on their way from the disk',
    },
  },
  {
    name: 'half-a-group-committed',
    breaks: 'a group of writes of which one fails leaves nothing behind (lmdb keeps what it was given before)',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'engines/lmdb-engine.js',
        edits: [{ find: 'assertStorable(key);', replace: '' }],
      },
    ],
    test: {
      file: 'packages/fenced-kv/test/engines/lmdb-engine.test.ts',
      title: 'has nothing of a group of which one write fails, neither at once nor after a restart',
    },
  },
  {
    name: 'change-told-before-it-is-durable',
    breaks: 'a follower of a bucket is told what is durable',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'changes/change-feed.js',
        edits: [
          { find: 'this.#feed.announce(change);', replace: 'this.#feed.publish(change);' },
          { find: 'for (const change of this.#all ?? []) this.#feed.publish(change);', replace: '' },
        ],
      },
    ],
    test: {
      file: 'packages/fenced-kv/test/crashes/every-step.test.ts',
      title: 'has each write that it acknowledged and no part of another, and tells followers each revision once',
    },
  },
  {
    name: 'restore-lowers-a-fence',
    breaks: 'a restore keeps the higher fence of a bucket',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'backup/restore.js',
        edits: [
          { find: 'highest: Math.max(present?.highest ?? 0, backup.highest)', replace: 'highest: backup.highest' },
        ],
      },
    ],
    test: {
      file: 'packages/fenced-kv/test/crashes/backup.test.ts',
      title: 'lowers no fence, leaves nothing that is half restored to be served, and is done when it is run again',
    },
  },
  {
    name: 'restore-without-a-mark',
    breaks: 'nothing that is half restored is served',
    patches: [
      {
        module: '@holdfast/fenced-kv',
        file: 'backup/restore.js',
        edits: [{ find: 'Uint8Array.of(RESTORING)', replace: 'Uint8Array.of(FORMAT_VERSION)' }],
      },
    ],
    test: {
      file: 'packages/fenced-kv/test/crashes/backup.test.ts',
      title: 'lowers no fence, leaves nothing that is half restored to be served, and is done when it is run again',
    },
  },
  {
    name: 'renewal-without-a-quorum-round',
    breaks: 'a renewal is acknowledged after a quorum has confirmed the leader',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'sessions/renewals.js',
        edits: [
          {
            find: 'this.#deps.handle().readIndex((result) => {',
            replace: '((confirmed) => confirmed(0))((result) => {',
          },
        ],
      },
    ],
    test: {
      file: 'packages/lockd/test/sessions/renewals.test.ts',
      title: 'is not acknowledged at server 1 before a quorum has confirmed the leader',
    },
  },
  {
    name: 'time-to-live-anew-by-an-election',
    breaks: 'an election does not begin a time to live anew',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'nodes/unused-nodes.js',
        edits: [{ find: 'this.#startMs + mtime + ttlMs - this.#startStamp', replace: 'this.#startMs + ttlMs' }],
      },
    ],
    test: { file: 'packages/lockd/test/nodes/unused-nodes.test.ts', title: 'does not begin anew with an election' },
  },
  {
    name: 'time-to-live-by-the-wall-clock',
    breaks: 'a wall clock that jumps removes no node',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'nodes/unused-nodes.js',
        edits: [
          {
            find: 'this.#ends.set(node, nowMs + limited.ttlMs);',
            replace: 'this.#ends.set(node, this.#startMs + limited.mtime + limited.ttlMs - this.#startStamp);',
          },
        ],
      },
    ],
    test: {
      file: 'packages/lockd/test/nodes/unused-nodes.test.ts',
      title: 'is not removed by a wall clock that jumps, in whichever direction',
    },
  },
  {
    name: 'container-removed-at-once',
    breaks: 'a container stays for a while after its last child',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'nodes/unused-nodes.js',
        edits: [{ find: 'this.#deps.clock.monotonicMs() + this.#deps.containerCheckMs', replace: '0' }],
      },
    ],
    test: {
      file: 'packages/lockd/test/nodes/unused-nodes.test.ts',
      title: 'goes some time after its last child, and one that was never used stays',
    },
  },
  {
    name: 'lost-removal-not-proposed-again',
    breaks: 'what is due and could not be removed is proposed again',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'nodes/unused-nodes.js',
        edits: [{ find: 'this.#office?.decided(); return true;', replace: 'return true;' }],
      },
    ],
    test: {
      file: 'packages/lockd/test/nodes/unused-nodes.test.ts',
      title: 'that cannot be proposed for now is proposed again',
    },
  },
];
