/** A situation: what is done to the resource, and what it must do then. One file each, and a line of the list. */

import type { Random } from '@holdfast/runtime';

import type { Cast, Round } from '../rounds/round.ts';

export const SITUATION_NAMES = [
  'paused-holder',
  'zombie',
  'late-packet',
  'before-first-write',
  'race',
  'own-repeats',
  'equal-tokens',
  'no-token',
] as const;
export type SituationName = (typeof SITUATION_NAMES)[number];

export interface Scene {
  readonly cast: Cast;
  readonly random: Random;
  /** How long a call to the resource may take. */
  readonly callTimeoutMs: number;
  /** How many writes make "on and on". */
  readonly rounds: number;
  /** How long writes took so far, of all rounds of this situation. */
  readonly writeMs: number[];
}

export interface Situation {
  readonly name: SituationName;
  /** What a fenced resource does; it ends the sentence "the resource …". */
  readonly promise: string;
  /** What must have come up for a verdict: stale writes, writes at the same moment as newer ones, or only those of the newest holder. */
  readonly tries: 'stale' | 'racing' | 'newest';
  /** How often it is played when `--rounds` asks for so many. */
  rounds(asked: number): number;
  /** Why it cannot be played with this resource. */
  unfit?(cast: Cast): string | undefined;
  play(round: Round, scene: Scene): Promise<void>;
}
