/** Lists of names in arguments of the commands: separated by commas, and each of something that there is. */

import { InvalidArgumentError } from 'commander';
import { WORKLOADS } from '../workloads/index.ts';

/** @throws InvalidArgumentError */
export function workloadNames(text: string): readonly string[] {
  return namesOf(
    text,
    WORKLOADS.map(({ name }) => name),
    'workload',
  );
}

/** @throws InvalidArgumentError */
export function namesOf(text: string, known: readonly string[], what: string): readonly string[] {
  const names = text.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(`there is no ${what} "${unknown}"; there are ${known.join(', ')}`);
}
