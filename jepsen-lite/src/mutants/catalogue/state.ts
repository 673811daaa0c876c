/** Planted bugs of the replicated state machine: locks, sessions, exactly once. */

import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';

export const stateMutants: readonly Mutant[] = [
  {
    name: 'grant-to-an-expired-waiter',
    breaks: 'a lock is granted to living sessions only',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          {
            find: 'for (const acquire of state.locks.acquiresOf(session).inOrder()) state.locks.remove(acquire, state.index);',
            replace:
              'for (const acquire of state.locks.acquiresOf(session).inOrder()) { if (acquire.token === 0) state.locks.acquiresOf(session).remove(acquire); else state.locks.remove(acquire, state.index); }',
          },
        ],
      },
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: "invariant(this.#sessions.get(session.id) === session, 'a lock is granted to a living session');",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    sample: true,
  },
  {
    name: 'release-frees-whoever-holds',
    breaks: 'a release ends the hold that it names, and no other',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'export function release(state, session, command) { const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);',
            replace:
              'export function release(state, session, command) { const acquired = state.locks.get(command.lock)?.holders.first;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'release-by-a-non-holder',
    breaks: 'only the session that holds a lock releases it',
    patches: [
      {
        module: STATE,
        file: 'commands/locks.js',
        edits: [
          {
            find: 'export function release(state, session, command) { const acquired = ownAcquire(state, session, command.lock, command.acquireIndex);',
            replace:
              'export function release(state, session, command) { const acquired = [...(state.locks.get(command.lock)?.holders ?? [])].find((held) => held.acquireIndex === command.acquireIndex);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'ended-before-the-last-node-is-gone',
    breaks: 'no node of an ended session is left',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          {
            find: 'if (session.ephemerals.size > 0) return; const { id, generation }',
            replace: 'if (session.ending === undefined) return; const { id, generation }',
          },
        ],
      },
      {
        module: STATE,
        file: 'sessions/session-table.js',
        edits: [
          {
            find: 'session.ephemerals.size === 0',
            replace: 'true',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'remembered-answers-not-counted',
    breaks: 'what clients make servers remember is counted, and bounded',
    patches: [
      {
        module: STATE,
        file: 'sessions/reply-cache.js',
        edits: [
          {
            find: 'this.#count(cost); this.#answers[end] = answer;',
            replace: 'this.#answers[end] = answer;',
          },
          { find: 'this.#count(-cost);', replace: '' },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'any-server-speaks-for-a-session',
    breaks: 'a request counts only through the server at which its session is attached',
    patches: [
      {
        module: STATE,
        file: 'state-machine.js',
        edits: [{ find: 'header.via === session.server && ', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'unknown-command-stops-the-server',
    breaks: 'a client command that the state version does not have is answered, by every server',
    patches: [
      {
        module: STATE,
        file: 'entries/decoded-entry.js',
        edits: [
          {
            find: 'if (name === undefined && !isClientCommand(header.command))',
            replace: 'if (name === undefined)',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'unknown-lock-kind-stops-the-server',
    breaks: 'an acquire of a lock kind that the state version does not have is answered, by every server',
    patches: [
      {
        module: STATE,
        file: 'commands/wanted-lock.js',
        edits: [
          {
            find: "import { errorReply, invalidLockReply, unsupportedReply } from '../replies.js';",
            replace:
              "import { errorReply, invalidLockReply, unsupportedReply } from '../replies.js'; import { invariant } from '../invariant.js';",
          },
          {
            find: 'if (kind === undefined) return unsupportedReply(`lock kind ${asked.kind}`, state.version);',
            replace:
              "invariant(kind !== undefined, 'an acquire of a kind that no version has is answered before it is applied');",
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'request-applied-twice',
    breaks: 'a request that is sent again takes effect once',
    patches: [
      {
        module: STATE,
        file: 'state-machine.js',
        edits: [
          {
            find: 'return this.#repeat(session, header);',
            replace:
              'return this.#reply(header, presentReply(applyClientCommand(this.#state, session, commandOrError(name, decoded), header.number)));',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
  },
  {
    name: 'memory-trimmed-too-early',
    breaks: 'an answer is remembered until the client has acknowledged it',
    patches: [
      {
        module: STATE,
        file: 'state-machine.js',
        edits: [
          {
            find: 'cache.evictUpTo(Math.min(header.ackedUpTo, header.number - 1));',
            replace: 'cache.evictUpTo(header.number - 1);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'answers-forgotten-on-re-attach',
    breaks: 'a session that attaches elsewhere gets the answers that it has missed',
    patches: [
      {
        module: STATE,
        file: 'commands/attach.js',
        edits: [
          {
            find: 'session.generation += 1;',
            replace: 'session.generation += 1; session.cache.evictUpTo(session.cache.lastApplied);',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
  },
  {
    name: 'older-attachment-heard',
    breaks: 'what still comes through an earlier connection of a session is refused',
    patches: [
      {
        module: STATE,
        file: 'state-machine.js',
        edits: [
          {
            find: 'header.generation === session.generation;',
            replace: 'header.generation <= session.generation;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'gap-accepted',
    breaks: 'requests of a session apply in the order of their numbers',
    patches: [
      {
        module: STATE,
        file: 'state-machine.js',
        edits: [
          {
            find: '!Number.isSafeInteger(header.number) || header.number > next',
            replace: '!Number.isSafeInteger(header.number)',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'token-from-a-counter-in-memory',
    breaks: 'a token is the index of the entry that granted, so that it rises for ever',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          { find: 'acquire.token = index;', replace: 'acquire.token = lock.grants = (lock.grants ?? 0) + 1;' },
          { find: 'acquireIndex, token: index }', replace: 'acquireIndex, token: head.token }' },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
    sample: true,
  },
  {
    name: 'grants-in-map-insertion-order',
    breaks: 'a lock is granted in the order in which it was asked for, on every server',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'const head = lock.waiters.first;',
            replace:
              'const head = [...this.#sessions.values()].flatMap((session) => this.acquiresOf(session).inOrder()).find((acquire) => acquire.list === lock.waiters);',
          },
        ],
      },
      {
        module: STATE,
        file: 'locks/lock.js',
        edits: [
          {
            find: 'return lock.waiters.first === acquire && lock.kind.mayJoin(lock.holders, request);',
            replace: 'return lock.kind.mayJoin(lock.holders, request);',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
  },
  {
    name: 'locks-granted-in-set-order',
    breaks: 'what an entry does never depends on the insertion order of a collection',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'touched.sort((left, right) => compareText(left.name, right.name));',
            replace: 'touched.unshift(touched.pop());',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'two-holders',
    breaks: 'a mutex has one holder',
    patches: [
      {
        module: STATE,
        file: 'locks/kinds/mutex.js',
        edits: [{ find: 'holders.size === 0', replace: 'holders.size <= 1' }],
      },
    ],
    caughtBy: ['simulation', 'properties'],
  },
  {
    name: 'lock-not-passed-on-at-a-session-end',
    breaks: 'the end of a session grants its locks on in the same entry',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          {
            find: 'state.digest.mix(session.id); state.locks.grantPending(state.index, state.stamp, state.events);',
            replace: 'state.digest.mix(session.id);',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'properties'],
  },
  {
    name: 'idle-lock-left-behind',
    breaks: 'an idle lock leaves nothing',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [{ find: 'this.#nodes.remove(lock.container, index);', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'ephemeral-node-outlives-its-session',
    breaks: 'the end of a session removes its ephemeral nodes',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [
          {
            find: 'ephemerals.delete(node); state.nodes.remove(node, state.index);',
            replace: 'ephemerals.delete(node); if (ephemerals.size > 0) state.nodes.remove(node, state.index);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'expiry-of-a-session-that-came-back',
    breaks: 'an expiry has no effect on a session that has attached again since it was decided',
    patches: [
      {
        module: STATE,
        file: 'commands/end-session.js',
        edits: [{ find: 'if (session.generation === command.generation)', replace: 'if (true)' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'removal-not-in-the-change-feed',
    breaks: 'the change feed notifies of every change of a node, in order',
    patches: [
      {
        module: STATE,
        file: 'tree/row-node-store.js',
        edits: [{ find: "this.#feed.notify('deleted', node, index);", replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
];
