/** Planted bugs of watches, at the server and in the SDK. */

import type { Mutant } from '../mutant.ts';
import type { UnitTestMutant } from './unit-tests.ts';

const LOCKD = '@holdfast/lockd';
const CLIENT = '@holdfast/client';

const WATCHES_TEST = 'packages/lockd/test/watches/watches.test.ts';
const RESUME_TEST = 'packages/lockd/test/watches/resume.test.ts';

export const watchMutants: readonly Mutant[] = [
  {
    name: 'recursive-watch-misses-a-descendant',
    breaks: 'a recursive watch tells of every node below its own, however deep',
    patches: [
      {
        module: LOCKD,
        file: 'watches/event-gatherer.js',
        edits: [{ find: 'this.#tellAt(at, RECURSIVE);', replace: 'this.#tellAt(at, RECURSIVE); break;' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'history-one-short-at-its-begin',
    breaks: 'a watch that goes on is told the very next change',
    patches: [
      {
        module: LOCKD,
        file: 'watches/event-history.js',
        edits: [{ find: 'if (index > from) {', replace: 'if (index > from + 1) {' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'cursor-not-taken-from-the-frame',
    breaks: 'a frame with events says up to where they tell, and the next server goes on from there',
    patches: [
      {
        module: CLIENT,
        file: 'watches/watch-pipeline.js',
        edits: [
          {
            find: 'if (request === undefined) this.#through = Math.max(this.#through, through);',
            replace: 'if (request === undefined) void through;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'resumed-without-the-past',
    breaks: 'a watch that goes on is told what has happened since it was told last',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [{ find: 'from === 0 || from === appliedIndex ? undefined', replace: 'from !== undefined ? undefined' }],
      },
    ],
    caughtBy: ['simulation'],
  },
];

/** Those that only the test of a unit is asked to notice. */
export const watchUnitTestMutants: readonly UnitTestMutant[] = [
  {
    name: 'cursor-taken-from-the-connection',
    breaks: 'what a connection has shown counts only for watches that were confirmed there',
    patches: [
      {
        module: CLIENT,
        file: 'watches/watch-pipeline.js',
        edits: [
          {
            find: 'if (subscription.confirmed) subscription.told(this.#through);',
            replace:
              'subscription.told(this.#deps.seenIndex()); if (subscription.confirmed) subscription.told(this.#through);',
          },
        ],
      },
    ],
    test: {
      file: 'packages/client/test/watches/watch.test.ts',
      title: 'goes on from where it was told, whatever a connection has shown that did not confirm it',
    },
  },
  {
    name: 'event-after-the-reply',
    breaks: 'an event leaves before the reply of the entry that it tells',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [
          {
            find: 'for (const watcher of this.#gatherer.take()) this.#tell(watcher, index);',
            replace:
              'const hearing = this.#gatherer.take(); this.#deps.clock.afterPoll(() => { for (const watcher of hearing) this.#tell(watcher, index); });',
          },
        ],
      },
    ],
    test: { file: WATCHES_TEST, title: 'tells of a change before the reply and before any read that shows it' },
  },
  {
    name: 'persistent-watch-lost-at-delete-and-re-create',
    breaks: 'a persistent watch lives through the deletion of its node',
    patches: [
      {
        module: LOCKD,
        file: 'watches/event-gatherer.js',
        edits: [
          { find: 'if (table.firstAt(node) !== NONE) table.vanished(', replace: 'if (NONE !== 0) table.vanished(' },
        ],
      },
    ],
    test: {
      file: WATCHES_TEST,
      title: 'that is persistent tells every change of the node and its children, and lives through its deletion',
    },
  },
  {
    name: 'one-shot-watch-tells-again',
    breaks: 'a watch of one change is over when it has told it',
    patches: [
      {
        module: LOCKD,
        file: 'watches/event-gatherer.js',
        edits: [{ find: 'if (over !== 0) table.drop(row, over);', replace: 'void over;' }],
      },
    ],
    test: { file: WATCHES_TEST, title: 'of one change of a node tells it and is over' },
  },
  {
    name: 'change-told-once-for-each-watch',
    breaks: 'a connection is told a change once, in however many ways it watches',
    patches: [
      {
        module: LOCKD,
        file: 'watches/event-gatherer.js',
        edits: [{ find: 'if (watcher.lastChange === this.#change) return;', replace: '' }],
      },
    ],
    test: { file: WATCHES_TEST, title: 'tells a change once, in however many ways the connection watches it' },
  },
  {
    name: 'snapshot-keeps-slots-of-the-old-state',
    breaks: 'behind a snapshot a watch is at the node of its path, not at that of its slot',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [{ find: 'this.#table.rekey(this.#treeBefore, state.tree);', replace: 'void state;' }],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'lets its watches go on at the nodes of the same paths, and tells what it has skipped as far as it shows',
    },
  },
  {
    name: 'history-kept-over-a-snapshot',
    breaks: 'a history begins anew where a snapshot has skipped entries',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [{ find: 'this.history.reset(index);', replace: 'void index;' }],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'to a server that has started from a snapshot finds its history to begin there',
    },
  },
  {
    name: 'missed-events-not-told',
    breaks: 'a recursive watch behind the history is told that it has missed something',
    patches: [
      {
        module: LOCKD,
        file: 'watches/past-events.js',
        edits: [{ find: "recursive ||= kind === 'recursive';", replace: 'void kind;' }],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'behind the history is told what the nodes still show, and that recursive watches have missed the rest',
    },
  },
  {
    name: 'slow-watcher-told-on',
    breaks: 'a client that does not read is told nothing beyond a bound of unread bytes',
    patches: [
      {
        module: LOCKD,
        file: 'watches/slow-watchers.js',
        edits: [
          { find: 'client.unreadBytes + turnBytes <= MAX_UNREAD_EVENT_BYTES', replace: 'MAX_UNREAD_EVENT_BYTES > 0' },
        ],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'is told nothing more, and when it has read what it has missed: no memory is taken for it',
    },
  },
  {
    name: 'cursor-of-a-slow-watcher-runs-on',
    breaks: 'a renewal says up to where everything was told, and no further',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [
          {
            find: '(watcher.behindFrom ?? this.#deps.state.appliedIndex)',
            replace: 'this.#deps.state.appliedIndex',
          },
        ],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'is told nothing more, and when it has read what it has missed: no memory is taken for it',
    },
  },
  {
    name: 'watch-begins-before-what-its-client-has-seen',
    breaks: 'a watch begins at a server that has applied what its client has seen',
    patches: [
      {
        module: LOCKD,
        file: 'watches/watches.js',
        edits: [{ find: 'Math.max(from, minIndex)', replace: 'Math.min(from, minIndex)' }],
      },
    ],
    test: {
      file: WATCHES_TEST,
      title: 'begins at a server that has applied what its client has seen, and waits for that',
    },
  },
  {
    name: 'waiting-watches-without-a-bound',
    breaks: 'watch messages that wait for an index take a bounded memory',
    patches: [
      {
        module: LOCKD,
        file: 'watches/waiting-watches.js',
        edits: [{ find: 'ofClient > MAX_WAITING_WATCH_BYTES_PER_CONNECTION', replace: 'ofClient < 0' }],
      },
    ],
    test: {
      file: RESUME_TEST,
      title: 'waits without being counted when it is gone, and within a bound of memory',
    },
  },
];
