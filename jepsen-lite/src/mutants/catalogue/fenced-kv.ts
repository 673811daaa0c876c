/** Planted bugs of the fenced store. */

import type { Mutant } from '../mutant.ts';

const STORE = '@holdfast/fenced-kv';

export const fencedKvMutants: readonly Mutant[] = [
  {
    name: 'store-forgets-its-highest-token-on-restart',
    breaks: 'the highest token is stored with the data, as durably',
    patches: [
      {
        module: STORE,
        file: 'engines/journal-engine.js',
        edits: [
          {
            find: 'for (const write of record.writes) map.apply(write);',
            // A bucket's record: the token is in its bytes 2 to 9.
            replace:
              'for (const write of record.writes) { if (write.key[0] === 2) write.value?.fill(0, 2, 10); map.apply(write); }',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'store-without-a-fence',
    breaks: 'a write with a lower token than the highest is refused',
    patches: [
      {
        module: STORE,
        file: 'fence.js',
        edits: [{ find: 'if (token < highest)', replace: 'if (token < 0)' }],
      },
    ],
    caughtBy: ['simulation'],
    sample: true,
  },
  {
    name: 'store-answers-before-its-write-is-durable',
    breaks: 'an accepted write survives a power failure',
    patches: [
      {
        module: STORE,
        file: 'engines/journal-engine.js',
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
