/**
 * A copy of the built core of consensus, loaded beside the one in use, whose private fields are ordinary properties, so that its state
 * can be copied and compared by walking over what is there: no field can be forgotten. The product knows nothing of it. The copy may
 * have a planted bug.
 */

import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Core from '@holdfast/raft/core';

import type { Mutant } from '../../mutants/mutant.ts';
import { applyEdits, type Edit } from '../../patches/patch.ts';
import { builtFile } from '../../patches/product.ts';

export type CoreModule = typeof Core;

/** A mutant, whoever else notices it. */
export type PlantedBug = Omit<Mutant, 'caughtBy' | 'sample'>;

const RAFT = '@holdfast/raft';
const CORE = 'core/';
const PRIVATE_NAME = /#([A-Za-z_]\w*)/g;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

/** How the private name `#name` is called in the copy. */
export function openName(name: string): string {
  return `private_${name}`;
}

/** @throws RottenPatchError when the mutant does not fit the built core, or changes something else */
export async function openCore(mutant?: PlantedBug): Promise<CoreModule> {
  const edits = editsOf(mutant);
  const source = fileURLToPath(builtFile(RAFT, CORE));
  const copy = await mkdtemp(join(tmpdir(), 'holdfast-core-'));
  try {
    await writeFile(join(copy, 'package.json'), '{"type":"module"}');
    for (const file of await readdir(source, { recursive: true })) {
      if (!file.endsWith('.js')) continue;
      const text = await readFile(join(source, file), 'utf8');
      await mkdir(dirname(join(copy, file)), { recursive: true });
      await writeFile(join(copy, file), openText(file, text, edits.get(file)));
    }
    return (await import(pathToFileURL(join(copy, 'index.js')).href)) as CoreModule;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function openText(file: string, text: string, edits: readonly Edit[] | undefined): string {
  const changed = edits === undefined ? text : applyEdits(text, edits, file);
  return changed.replace(SOURCE_MAP, '').replaceAll(PRIVATE_NAME, (_, name: string) => openName(name));
}

function editsOf(mutant: PlantedBug | undefined): ReadonlyMap<string, readonly Edit[]> {
  const edits = new Map<string, readonly Edit[]>();
  for (const patch of mutant?.patches ?? []) {
    if (patch.module !== RAFT || !patch.file.startsWith(CORE)) {
      throw new TypeError(`${mutant?.name} changes ${patch.module}/${patch.file}, which is not of the core`);
    }
    edits.set(patch.file.slice(CORE.length), patch.edits);
  }
  return edits;
}
