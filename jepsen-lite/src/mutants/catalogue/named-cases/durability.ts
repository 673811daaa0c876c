/** Of what is on the disk, in which order. */

import type { CaseMutant } from './case-mutant.ts';

export const durabilityCases: readonly CaseMutant[] = [
  {
    name: 'entries-without-their-term',
    breaks: 'the term of an entry is durable with it or before it',
    file: 'log-store/contract/log-image.js',
    edits: [
      {
        find: 'if ((entries.length > 0 || snapshot !== undefined) && entryTerm > currentTerm) {',
        replace: 'if (snapshot !== undefined && entryTerm > currentTerm) {',
      },
    ],
  },
  {
    name: 'late-completion-counts-truncated',
    breaks: 'a write that ends after its entries were cut makes none durable that came in their place',
    file: 'core/write-queue.js',
    edits: [
      {
        find: 'for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, last);',
        replace: '',
      },
    ],
  },
  {
    name: 'several-writes-under-way',
    breaks: 'one write is under way, and what comes meanwhile is the next one',
    file: 'driver/durable-writer.js',
    edits: [{ find: 'if (this.#writing === undefined && !this.#failed)', replace: 'if (!this.#failed)' }],
  },
  {
    name: 'failed-read-fed-as-nothing',
    breaks: 'a read of the log that fails stops the server',
    file: 'driver/catch-up-reader.js',
    edits: [
      {
        find: '(error) => this.#parts.failed(error));',
        replace:
          "(error) => { void error; this.#delivered = true; this.#parts.event({ type: 'entries-read', peer: request.peer, term: request.term, entries: [] }); });",
      },
    ],
  },
  {
    name: 'failed-write-forgotten',
    breaks: 'a failed write is final',
    file: 'log-store/wal/segmented-log.js',
    edits: [{ find: 'this.#failure = { error };', replace: '' }],
  },
  {
    name: 'interrupted-installation-not-completed',
    breaks: 'a start completes the replacement of the log that a crash cut short',
    file: 'log-store/wal/segmented-log.js',
    edits: [
      {
        find: 'const restartAt = restartsLog ? chosen?.info : undefined;',
        replace: 'const restartAt = restartsLog && chosen === undefined ? chosen?.info : undefined;',
      },
    ],
  },
  {
    name: 'compaction-beyond-the-snapshot',
    breaks: 'the log is forgotten up to what a snapshot holds, and no further',
    file: 'log-store/wal/segmented-log.js',
    edits: [{ find: 'this.#segments.firstNeeded(upTo)', replace: 'this.#segments.firstNeeded(this.#image.lastIndex)' }],
  },
  {
    name: 'new-segment-without-its-name',
    breaks: 'a new segment has its name durably before anything is written into it',
    file: 'log-store/segments/segment-preparer.js',
    edits: [{ find: 'await this.#disk.syncDirectory(this.#directory);', replace: '' }],
  },
  {
    name: 'snapshot-synced-before-its-end',
    breaks: 'a snapshot is on the disk to its last byte before it gets its name',
    file: 'log-store/snapshots/snapshot-files.js',
    edits: [
      {
        find: 'await this.#file.write(fileLength(this.#header, info.bytes) - TRAILER_BYTES, encodeTrailer(info, this.#header.seed)); await this.#file.sync();',
        replace:
          'await this.#file.sync(); await this.#file.write(fileLength(this.#header, info.bytes) - TRAILER_BYTES, encodeTrailer(info, this.#header.seed));',
      },
    ],
  },
];
