/** Planted bugs of delays of locks that whole ensembles show, where clients take such locks. */

import type { Edit } from '../../patches/patch.ts';
import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';
const LOCKD = '@holdfast/lockd';

/** One that the properties notice, too. */
export const SHOWN: Pick<Mutant, 'caughtBy' | 'shownBy'> = {
  caughtBy: ['properties', 'simulation'],
  shownBy: { workload: 'delayed-locks', checker: 'delays' },
};

/** A new leader ends none of the delays that it finds. */
export const NEVER_ARMED: Edit = { find: 'for (const delay of deps.state.lockDelays()) this.arm(delay);', replace: '' };

/** One of the clock by which a leader knows when a delay is over. */
function inOffice(name: string, breaks: string, ...edits: readonly Edit[]): Mutant {
  return {
    name,
    breaks,
    patches: [{ module: LOCKD, file: 'locks/lock-delays.js', edits }],
    ...SHOWN,
    caughtBy: ['simulation'],
  };
}

export const delayedLockMutants: readonly Mutant[] = [
  {
    name: 'delay-counts-from-the-grant',
    breaks: 'a delay counts from when the hold was lost',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'this.#delayed.begin(lock, { index, delayMs, since: stamp, token });',
            replace:
              'this.#delayed.begin(lock, { index, delayMs: Math.max(1, delayMs - stamp + acquire.grantedAt), since: stamp, token });',
          },
        ],
      },
    ],
    ...SHOWN,
  },
  inOffice('delay-ends-with-its-leader', 'a lock is delayed in full by a new leader', {
    find: 'for (const delay of deps.state.lockDelays()) this.arm(delay);',
    replace: 'for (const delay of deps.state.lockDelays()) this.arm({ ...delay, delayMs: 0 });',
  }),
  inOffice(
    'delay-by-the-wall-clock',
    'a delay counts by the monotonic clock',
    {
      find: 'new TimerWheel(LOCK_DELAY_TICK_MS, deps.clock.monotonicMs())',
      replace: 'new TimerWheel(LOCK_DELAY_TICK_MS, deps.clock.wallMs())',
    },
    { find: 'const nowMs = this.#deps.clock.monotonicMs();', replace: 'const nowMs = this.#deps.clock.wallMs();' },
    { find: 'this.#wheel.take(clock.monotonicMs(),', replace: 'this.#wheel.take(clock.wallMs(),' },
  ),
  {
    ...inOffice('delay-goes-on-for-ever', 'a new leader ends the delays that it finds', NEVER_ARMED),
    // Whoever waits keeps the run from its end, which is before any checker.
    shownBy: { workload: 'delayed-locks' },
  },
];
