/** Planted bugs of the way to the disk. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const logStoreMutants: readonly Mutant[] = [
  {
    name: 'directory-not-synced',
    breaks: 'a new segment of the log is found again after a power failure, its name included',
    patches: [
      {
        module: RAFT,
        file: 'log-store/segments/segment-preparer.js',
        edits: [{ find: 'await this.#disk.syncDirectory(this.#directory);', replace: '' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'recycled-segment-not-filled',
    breaks: 'a segment that is made of one that compaction removed is zeros before it is log',
    patches: [
      {
        module: RAFT,
        file: 'log-store/segments/segment-preparer.js',
        edits: [
          {
            find: "return spare ?? this.#disk.open(path, 'create');",
            replace: `if (spare !== undefined) this.#filledBytes = this.#segmentBytes;
              return spare ?? this.#disk.open(path, 'create');`,
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'log-written-without-sync',
    breaks: 'what a server calls durable survives a power failure',
    patches: [
      {
        module: RAFT,
        file: 'log-store/wal/segmented-log.js',
        edits: [
          {
            find: 'await active.file.append(active.position, [bytes]);',
            replace: 'await active.file.write(active.position, bytes);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    sample: true,
  },
  {
    name: 'write-error-taken-for-success',
    breaks: 'after a failed write the server stops: nothing is known of what the disk holds',
    patches: [
      {
        module: RAFT,
        file: 'driver/durable-writer.js',
        edits: [{ find: 'this.#failed = true; this.#onError(error); });', replace: 'this.#onPersisted(seq); });' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'torn-write-taken-for-whole',
    breaks: 'a write that a power failure cut short is recognised by its checksum',
    patches: [
      {
        module: RAFT,
        file: 'log-store/format/frame.js',
        edits: [
          {
            find: 'view.getUint32(crcAt, true) === crc32(frame.subarray(0, crcAt), crc)',
            replace: 'crc32 !== undefined',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'vote-ban-ignored',
    breaks: 'a server that has lost acknowledged log does not vote before it has it again',
    patches: [
      {
        module: RAFT,
        file: 'core/election/election.js',
        edits: [
          { find: 'return core.voteBan === undefined && !diskStalls(core);', replace: 'return !diskStalls(core);' },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'mark-without-the-term',
    breaks: 'a new term is marked before it is sent: a log that was damaged later bans the vote above it',
    patches: [
      {
        module: RAFT,
        file: 'log-store/wal/segmented-log.js',
        edits: [
          {
            find: 'if (beginsSegment || this.#image.hardState.term > this.#mark.term)',
            replace: 'if (beginsSegment)',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
