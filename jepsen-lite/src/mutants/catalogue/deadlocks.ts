/** Planted bugs of deadlocks that are found and broken, and of holders who are asked to release. */

import type { Edit } from '../../patches/patch.ts';
import type { Mutant } from '../mutant.ts';
import type { UnitTestMutant } from './unit-tests.ts';

const STATE = '@holdfast/state';
const LOCKD = '@holdfast/lockd';
const CLIENT = '@holdfast/client';

function inState(name: string, breaks: string, file: string, edit: Edit): Mutant {
  return { name, breaks, patches: [{ module: STATE, file, edits: [edit] }], caughtBy: ['properties'] };
}

export const deadlockMutants: readonly Mutant[] = [
  {
    ...inState(
      'deadlock-left-alone',
      'a wait that is to end in a deadlock ends by the entry that closes it',
      'commands/break-deadlocks.js',
      { find: 'if (reached?.has(acquire) !== true) return undefined;', replace: 'return undefined;' },
    ),
    sample: true,
  },
  inState('oldest-of-a-deadlock-ends', 'of those who have asked, the youngest ends', 'locks/wait-graph.js', {
    find: '.sort((left, right) => right.acquireIndex - left.acquireIndex)',
    replace: '.sort((left, right) => left.acquireIndex - right.acquireIndex)',
  }),
  inState('wait-ends-unasked', 'a wait ends in a deadlock only where its acquire has asked', 'locks/wait-graph.js', {
    find: 'acquire.token === 0 && acquire.options.abortInDeadlock)',
    replace: 'acquire.token === 0)',
  }),
  inState('deadlock-by-a-grant-unseen', 'a grant that closes a deadlock breaks it', 'locks/lock-table.js', {
    find: 'if (options.abortInDeadlock) this.#store.aborting -= 1; this.#fresh.push(lead);',
    replace: 'if (options.abortInDeadlock) this.#store.aborting -= 1;',
  }),
  inState('places-in-queues-not-waited-for', 'who is before in a queue is waited for', 'locks/wait-graph.js', {
    find: 'if (previous !== undefined) edges.push({ acquire: previous.lead, lock });',
    replace: '',
  }),
  inState('one-session-waits-for-itself', 'two tasks at one lock are no deadlock', 'locks/wait-graph.js', {
    find: ' && !haveOneLock(hold, acquire)',
    replace: '',
  }),
  inState('deadlock-of-holders-who-go-on', 'who waits for nothing is in no deadlock', 'locks/wait-graph.js', {
    find: 'return siblings.size > siblings.holds;',
    replace: 'return siblings.size > 0;',
  }),
  inState(
    'waits-that-end-forgotten-on-restore',
    'a restored machine breaks the same deadlocks',
    'locks/lock-restore.js',
    { find: 'if (token === 0 && options.abortInDeadlock) this.#store.aborting += 1;', replace: '' },
  ),
  inState(
    'any-request-enforced',
    'the end of a request counts only for the request that it names',
    'commands/release-requests.js',
    { find: 'present?.index === request && present.revokes', replace: 'present !== undefined && present.revokes' },
  ),
  inState('hold-to-be-left-revoked', 'a hold that is to be left stays', 'commands/release-requests.js', {
    find: 'present?.index === request && present.revokes',
    replace: 'present?.index === request',
  }),
  inState('request-forgotten-on-restore', 'a restored hold is asked for as it was', 'locks/lock-restore.js', {
    find: 'this.#restoreReleaseRequest(acquire);',
    replace: '',
  }),
];

const REQUESTS_TEST = 'packages/lockd/test/locks/release-requests.test.ts';

/** Those that only the test of a unit is asked to notice: what servers and clients tell. */
export const deadlockUnitTestMutants: readonly UnitTestMutant[] = [
  {
    name: 'requests-of-the-last-leader-forgotten',
    breaks: 'a new leader ends the requests that it finds',
    patches: [
      {
        module: LOCKD,
        file: 'locks/release-requests.js',
        edits: [{ find: 'if (request.revokes) this.#arm(request);', replace: 'void request;' }],
      },
    ],
    test: { file: REQUESTS_TEST, title: 'has its whole time again under a new leader' },
  },
  {
    name: 'request-told-once',
    breaks: 'a holder that comes back hears again of a request',
    patches: [
      {
        module: LOCKD,
        file: 'locks/release-requests.js',
        edits: [{ find: 'if (requested.session === client.session)', replace: 'if (requested.session < 0)' }],
      },
    ],
    test: {
      file: REQUESTS_TEST,
      title: 'is told again when it attaches anew, at whichever server, with the time that is left',
    },
  },
  {
    name: 'request-told-to-one-entry',
    breaks: 'every entry of a reentrant lock hears of a request',
    patches: [
      {
        module: CLIENT,
        file: 'locks/held-lock.js',
        edits: [{ find: 'this.#releaseListener?.(request);', replace: '' }],
      },
    ],
    test: {
      file: 'packages/client/test/locks/release-requests.test.ts',
      title: 'tells it to every entry of a reentrant lock, and to those that come later',
    },
  },
];
