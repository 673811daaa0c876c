/**
 * Planted bugs that only histories show, each of the promise of one checker: what every server does alike no invariant of the state can
 * tell from what is right. All clients do the workload that puts the promise to the test.
 */

import type { Mutant } from '../mutant.ts';
import type { Patch } from '../../patches/patch.ts';

const CLIENT = '@holdfast/client';
const LOCKD = '@holdfast/lockd';
const STATE = '@holdfast/state';

function versionCheck(alsoTaken: string): readonly Patch[] {
  const find = 'if (expected === -1 || expected === version)';
  const replace = `if (expected === -1 || expected === version || expected === ${alsoTaken})`;
  return [{ module: STATE, file: 'commands/nodes/plan.js', edits: [{ find, replace }] }];
}

export const historyMutants: readonly Mutant[] = [
  {
    name: 'set-takes-the-version-before',
    breaks: 'what was appended to a list that others write, too, is there once',
    patches: versionCheck('version - 1'),
    caughtBy: ['simulation'],
    shownBy: { workload: 'list-append', checker: 'list-append' },
  },
  {
    name: 'set-takes-a-version-to-come',
    breaks: 'a conditional write has an effect only on the version that it names',
    patches: versionCheck('version + 1'),
    caughtBy: ['simulation'],
    shownBy: { workload: 'cas-register', checker: 'registers' },
  },
  {
    name: 'sequential-names-leave-a-gap',
    breaks: 'sequential nodes are numbered one after another, one number for each create',
    patches: [
      {
        module: STATE,
        file: 'commands/nodes/plan-create.js',
        edits: [
          {
            find: 'given + sequenceSuffix(sequence)',
            replace: 'given + sequenceSuffix(sequence + (sequence > 5 ? 1 : 0))',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    shownBy: { workload: 'exactly-once', checker: 'exactly-once' },
  },
  {
    name: 'grants-are-told-late',
    breaks: 'whoever waits on a healed system is answered soon after the last one before it has left',
    patches: [
      {
        module: CLIENT,
        file: 'session/session.js',
        edits: [
          {
            find: 'this.#listener.granted(message.acquireIndex, message.token, message.floor);',
            replace:
              'if (message.acquireIndex % 4 === 0) this.clock.setTimer(11_000, () => this.#listener.granted(message.acquireIndex, message.token, message.floor)); else this.#listener.granted(message.acquireIndex, message.token, message.floor);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    shownBy: { workload: 'fair-queue', checker: 'bounded-waiting' },
  },
  {
    name: 'followers-do-not-ask-the-leader',
    breaks: 'who holds a lock is answered linearizably, by followers, too',
    patches: [
      {
        module: LOCKD,
        file: 'requests/reads.js',
        edits: [
          {
            find: "this.#deps.peers.send(leader, { type: 'read-index', batch });",
            replace: 'this.#indexKnown(batch, Math.max(1, this.#deps.appliedIndex()));',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
    shownBy: { workload: 'lock-status', checker: 'linearizable-locks' },
  },
];
