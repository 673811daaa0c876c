/** Planted bugs of the fenced store. */

import type { Mutant } from '../mutant.ts';
import type { UnitTestMutant } from './unit-tests.ts';

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

/** A rule of replication that is another one: what a hundred steps of cores in any order must show. */
function ruleMutant(name: string, breaks: string, find: string, replace: string): UnitTestMutant {
  return {
    name,
    breaks,
    patches: [{ module: STORE, file: 'replication/core/rules.js', edits: [{ find, replace }] }],
    test: {
      file: 'packages/fenced-kv/test/replication/core/schedules.test.ts',
      title: 'keeps what was acknowledged, shows one growing log, and serves when all is healed',
    },
  };
}

const SERVES = 'inForce.every((replica) => matchOf(replica) >= barrier)';
/** Of a list of indexes, the one that a majority has reached. */
const OF_MAJORITY =
  'inForce.map((replica) => matchOf(replica)).sort((a, b) => b - a)[Math.floor(inForce.length / 2)] ?? 0';

export const replicationUnitTestMutants: readonly UnitTestMutant[] = [
  ruleMutant(
    'replica-installs-its-epoch-on-a-majority-only',
    'a primary serves when every in-sync replica has its epoch and its log',
    SERVES,
    `(${OF_MAJORITY}) >= barrier`,
  ),
  ruleMutant(
    'replica-serves-before-it-has-installed-its-epoch',
    'a primary that was overtaken is refused before the next one serves',
    SERVES,
    'true',
  ),
  ruleMutant(
    'in-sync-sets-that-do-not-overlap',
    'only a member of the in-sync set may become primary, and claims with the set as it is',
    'inSync.includes(self) ? inSync : undefined',
    'inSync.includes(self) ? inSync : [self]',
  ),
  ruleMutant(
    'stale-replica-believed',
    'a replica joins the in-sync set when it has everything that was acknowledged',
    'match >= commit && match >= barrier',
    'true',
  ),
  ruleMutant(
    'write-acknowledged-before-all-in-sync-have-it',
    'a write is acknowledged when every in-sync replica has it',
    'Math.min(...inForce.map((replica) => matchOf(replica)))',
    OF_MAJORITY,
  ),
];
