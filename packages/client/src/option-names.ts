/** The names of options, where TypeScript does not see them. */

import { optionNamesProblem } from '@holdfast/runtime';

import { InvalidArgumentError } from './errors.ts';

/** @throws InvalidArgumentError that names the unknown option and the one that was probably meant */
export function checkOptionNames(what: string, options: unknown, known: Readonly<Record<string, true>>): void {
  const problem = optionNamesProblem(what, options, known);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
}
