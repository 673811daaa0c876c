/** Of taking, sending and installing snapshots. */

import type { CaseMutant } from './case-mutant.ts';

export const snapshotCases: readonly CaseMutant[] = [
  {
    name: 'snapshots-for-followers-only',
    breaks: 'whoever is no leader takes a snapshot of what is committed',
    file: 'core/log/snapshots.js',
    edits: [
      {
        find: 'if (term > core.term) becomeFollower(core, term, from);',
        replace: "if (core.role.type !== 'follower') return; if (term > core.term) becomeFollower(core, term, from);",
      },
    ],
  },
  {
    name: 'entries-applied-during-an-installation',
    breaks: 'nothing is applied between a log that was replaced and its state',
    file: 'snapshots/replica-snapshots.js',
    edits: [{ find: 'this.#parts.applies.pause();', replace: '' }],
  },
  {
    name: 'older-snapshot-installed',
    breaks: 'a snapshot at or below what is committed changes nothing',
    file: 'core/log/snapshots.js',
    edits: [
      {
        find: "if (position.index <= core.commit || core.role.type === 'leader') return;",
        replace:
          "if (core.role.type === 'leader') return; if (position.index <= core.commit) { core.effect({ type: 'restore', position }); return; }",
      },
    ],
  },
  {
    name: 'peer-kept-waiting-for-a-snapshot',
    breaks: 'a peer that turns out to have what it needs gets appends again',
    file: 'core/log/snapshots.js',
    edits: [
      {
        find: "if (progress.mode === 'snapshot') progress.probeFrom(progress.next); return false;",
        replace: "return progress.mode === 'snapshot';",
      },
    ],
  },
  {
    name: 'sent-snapshot-not-followed-up',
    breaks: 'behind a snapshot that was sent the peer is probed',
    file: 'core/log/snapshots.js',
    edits: [{ find: "progress?.mode !== 'snapshot') return;", replace: "progress?.mode !== 'probe') return;" }],
  },
  {
    name: 'configuration-of-any-snapshot-taken',
    breaks: 'a log that goes on behind a snapshot keeps its own configurations',
    file: 'core/log/snapshots.js',
    edits: [
      {
        find: "core.effect({ type: 'restore', position: { index, term: lastTerm } }); }",
        replace:
          "core.effect({ type: 'restore', position: { index, term: lastTerm } }); } else core.membership.configurations.reset({ ...core.membership.configurations.asOf(core.commit), index: core.commit });",
      },
    ],
  },
  {
    name: 'snapshot-with-the-latest-configuration',
    breaks: 'a snapshot holds the configuration that was applied last, and none that may still be cut from the log',
    file: 'snapshots/replica-snapshots.js',
    edits: [{ find: 'core.configurationAsOf(index).configuration', replace: 'core.configuration.configuration' }],
  },
  {
    name: 'snapshot-with-an-older-configuration',
    breaks: 'a snapshot holds the configuration that was applied last',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'encodeConfiguration(core.configurationAsOf(index).configuration)',
        replace:
          'encodeConfiguration(core.replicationTargets.length > 0 ? core.configurationAsOf(0).configuration : undefined)',
      },
    ],
  },
  {
    name: 'trigger-lost-while-a-snapshot-is-written',
    breaks: 'what is applied while a snapshot is written counts for the next one',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'outcome = await taker.run();',
        replace: 'outcome = await taker.run(); this.#lastBegunBytes = this.#gauge.bytes;',
      },
    ],
  },
  {
    name: 'compaction-forgotten-for-a-full-window',
    breaks: 'a peer whose entries were compacted away while others are under way to it is sent a snapshot',
    file: 'core/log/snapshots.js',
    edits: [
      {
        find: 'if (!isBehindLog(core, progress)) {',
        replace: 'if (!isBehindLog(core, progress) || progress.unanswered) {',
      },
    ],
  },
  {
    name: 'snapshot-dropped-by-any-message',
    breaks: 'a snapshot goes on arriving whatever else is heard of its leader',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'this.#offered = undefined; this.#taker?.endTurn();',
        replace: 'this.#offered = undefined; this.#receiver.abandon(); this.#taker?.endTurn();',
      },
    ],
    also: {
      file: 'snapshots/snapshot-receiver.js',
      edits: [
        {
          find: 'async stop() { this.#stopped = true;',
          replace: 'abandon() { this.#inOrder(() => this.#discard()); } async stop() { this.#stopped = true;',
        },
      ],
    },
  },
  {
    name: 'outgrown-snapshot-installed',
    breaks: 'a snapshot that the log has outgrown while it was restored is dropped',
    file: 'snapshots/snapshot-receiver.js',
    edits: [{ find: 'if (offer.index > this.#parts.commitIndex()) {', replace: 'if (offer.index > 0) {' }],
  },
];
