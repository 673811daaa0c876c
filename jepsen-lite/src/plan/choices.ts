/** Draws of scenarios. */

import type { Random } from '@holdfast/runtime';

export function oneOf<const T>(random: Random, choices: readonly T[]): T {
  const choice = choices[random.integer(choices.length)];
  if (choice === undefined) throw new TypeError('there is nothing to choose from');
  return choice;
}

/** Both included. */
export function between(random: Random, least: number, most: number): number {
  return least + random.integer(most - least + 1);
}
