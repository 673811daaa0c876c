/** Starts programs of the product with changes, such as a planted bug, and knows whether they were loaded. */

import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { builtFile, type EditsByUrl } from './product.ts';

const PLANT = builtFile('@holdfast/jepsen-lite', 'patches/plant.js').href;
const PLANT_VARIABLE = 'HOLDFAST_PLANT';

export class Planted {
  readonly #request: string | undefined;
  readonly #loaded: string;
  readonly #edits: EditsByUrl | undefined;

  /** @param edits undefined: the product as it is */
  constructor(edits: EditsByUrl | undefined, directory: string) {
    this.#edits = edits;
    this.#loaded = join(directory, 'loaded');
    this.#request = edits === undefined ? undefined : join(directory, 'plant.json');
    writeFileSync(this.#loaded, '');
    if (this.#request !== undefined) writeFileSync(this.#request, JSON.stringify({ edits, loaded: this.#loaded }));
  }

  /** For programs that Node runs, and those that they start. */
  get environment(): Readonly<Record<string, string>> {
    return this.#request === undefined ? {} : { NODE_OPTIONS: `--import=${PLANT}`, [PLANT_VARIABLE]: this.#request };
  }

  /** Files that were to be changed, and that no program has loaded. */
  missing(): string[] {
    const loaded = new Set(readFileSync(this.#loaded, 'utf8').split('\n'));
    return Object.keys(this.#edits ?? {}).filter((url) => !loaded.has(url));
  }
}

/** The environment of programs that have the changes of both. */
export function plantedTogether(one: NodeJS.ProcessEnv, other: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const joined = (name: string, separator: string): NodeJS.ProcessEnv => {
    const values = [one[name], other[name]].filter((value) => value !== undefined);
    return values.length === 0 ? {} : { [name]: values.join(separator) };
  };
  return { ...one, ...other, ...joined('NODE_OPTIONS', ' '), ...joined(PLANT_VARIABLE, delimiter) };
}
