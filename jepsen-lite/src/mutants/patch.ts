/**
 * Makes a mutant's changes in a text. An edit whose place is gone or has become ambiguous is an error, never a change that is
 * silently left out: a mutant that changes nothing would survive, or be taken for the product.
 */

import type { Edit } from './mutant.ts';

/** The product has changed under a mutant: its edits must be written anew. */
export class RottenMutantError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RottenMutantError';
  }
}

/** @throws RottenMutantError */
export function applyEdits(text: string, edits: readonly Edit[], file: string): string {
  let changed = text;
  for (const edit of edits) {
    const place = pattern(edit.find);
    const count = changed.match(place)?.length ?? 0;
    if (count !== 1) {
      const times = count === 0 ? 'does not occur' : `occurs ${count} times`;
      throw new RottenMutantError(
        `"${edit.find}" ${times} in ${file}, must occur once; adapt the mutant to the product`,
      );
    }
    changed = changed.replace(place, () => edit.replace);
  }
  if (changed === text) throw new RottenMutantError(`the edits of ${file} change nothing`);
  return changed;
}

function pattern(find: string): RegExp {
  const words = find.trim().split(/\s+/);
  return new RegExp(
    words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join(String.raw`\s+`),
    'g',
  );
}
