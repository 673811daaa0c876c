/** Planted bugs of the fenced store. */

import type { Mutant } from '../mutant.ts';

const STORE = '@holdfast/fenced-kv';

export const fencedKvMutants: readonly Mutant[] = [
  {
    name: 'store-answers-before-its-write-is-durable',
    breaks: 'an accepted write survives a power failure',
    patches: [
      {
        module: STORE,
        file: 'journal-engine.js',
        edits: [
          {
            find: 'await this.#file.append(this.#end, [record]);',
            replace: 'await this.#file.write(this.#end, record);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
