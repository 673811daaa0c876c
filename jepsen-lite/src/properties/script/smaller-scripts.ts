/**
 * What a failing script shrinks to: stretches are left out, halves first, then ever smaller ones down to single moves, until no move can
 * be spared; then its numbers become smaller. A success goes on from where it was made, so that the work is about n log n runs.
 */

import { PICK_NAMES, type Move } from './move.ts';

export type Script = readonly Move[];

/** Smaller numbers make more moves superfluous: then pairs and single moves are left out once more. */
const ROUNDS = 3;

/** Where in its work the shrinking is. `again`: moves were left out since the stretches got this small, so another pass may find more. */
export type Attempt = { readonly round: number } & (
  | { readonly phase: 'leaving out'; readonly size: number; readonly end: number; readonly again: boolean }
  | { readonly phase: 'making smaller'; readonly position: number }
);
type LeavingOut = Extract<Attempt, { phase: 'leaving out' }>;
type Attempts = IterableIterator<{ readonly script: Script; readonly at: Attempt }>;

export function firstAttempt(script: Script): Attempt {
  return { round: 1, phase: 'leaving out', size: Math.ceil(script.length / 2), end: script.length, again: false };
}

export function isAttempt(context: unknown): context is Attempt {
  return typeof context === 'object' && context !== null && 'phase' in context;
}

export function* smaller(script: Script, from: Attempt): Attempts {
  const { round } = from;
  if (from.phase === 'leaving out') yield* withoutStretches(script, from);
  yield* withSmallerNumbers(script, round, from.phase === 'leaving out' ? 0 : from.position);
  if (round === ROUNDS) return;
  yield* smaller(script, { round: round + 1, phase: 'leaving out', size: 2, end: script.length, again: false });
}

function* withoutStretches(script: Script, from: LeavingOut): Attempts {
  let { size, end, again } = from;
  for (;;) {
    for (; end > 0; end -= size) {
      const start = Math.max(0, end - size);
      const at: Attempt = { round: from.round, phase: 'leaving out', size, end: start, again: true };
      yield { script: [...script.slice(0, start), ...script.slice(end)], at };
    }
    if (size <= 1 && !again) return;
    size = Math.max(1, Math.floor(size / 2));
    again = false;
    end = script.length;
  }
}

function* withSmallerNumbers(script: Script, round: number, from: number): Attempts {
  for (let position = from; position < script.length; position += 1) {
    const move = script[position];
    if (move === undefined) return;
    for (const name of PICK_NAMES) {
      for (const value of new Set([0, move[name] >> 1, move[name] - 1])) {
        if (value < 0 || value >= move[name]) continue;
        yield {
          script: script.with(position, { ...move, [name]: value }),
          at: { round, phase: 'making smaller', position },
        };
      }
    }
  }
}
