/**
 * Changes of built files of the product, as data: a planted bug, or what an older version lacks. An edit whose place is gone or has become
 * ambiguous is an error, never a change that is silently left out: a mutant that changes nothing would survive, or be taken for the product.
 */

export interface Edit {
  /** Must occur exactly once in the file; any run of white space stands for any other. */
  readonly find: string;
  readonly replace: string;
}

export interface Patch {
  readonly module: `@holdfast/${string}`;
  /** Within the module's built files. */
  readonly file: string;
  readonly edits: readonly Edit[];
}

/** The product has changed under a patch: its edits must be written anew. */
export class RottenPatchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RottenPatchError';
  }
}

/** @throws RottenPatchError */
export function applyEdits(text: string, edits: readonly Edit[], file: string): string {
  let changed = text;
  for (const edit of edits) {
    const place = pattern(edit.find);
    const count = changed.match(place)?.length ?? 0;
    if (count !== 1) {
      const times = count === 0 ? 'does not occur' : `occurs ${count} times`;
      throw new RottenPatchError(`"${edit.find}" ${times} in ${file}, must occur once; adapt the patch to the product`);
    }
    changed = changed.replace(place, () => edit.replace);
  }
  if (changed === text) throw new RottenPatchError(`the edits of ${file} change nothing`);
  return changed;
}

function pattern(find: string): RegExp {
  const words = find.trim().split(/\s+/);
  return new RegExp(
    words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join(String.raw`\s+`),
    'g',
  );
}
