/** Many at once: whichever order the resource gives them, the highest token wins, nobody waits for ever, and nothing older gets in behind it. */

import { defineCase, type ConformanceCase, type Stage } from '../case.ts';
import {
  expectAccepted,
  expectRefused,
  expectThat,
  expectValue,
  outcomeOf,
  together,
  type Outcome,
} from '../checks.ts';
import { randomOf, shuffled } from '../random.ts';
import type { FencedResource } from '../resource.ts';

const CONNECTIONS = 4;
const CALLS = 32;
const ROUNDS = 8;

async function connections({ resource, another }: Stage): Promise<readonly FencedResource[]> {
  const others: FencedResource[] = [];
  for (let count = 1; count < CONNECTIONS; count += 1) others.push(await another());
  return [resource, ...others];
}

/** Calls `call` with each token once, all at the same time, in an order that the seed draws. */
async function allAtOnce(
  all: readonly FencedResource[],
  tokens: readonly number[],
  seed: number,
  call: (resource: FencedResource, token: number) => Promise<void>,
): Promise<ReadonlyMap<number, Outcome>> {
  const outcomes = new Map<number, Outcome>();
  await together(
    shuffled(tokens, randomOf(seed)).map(async (token, place) => {
      const resource = all[place % all.length];
      if (resource === undefined) return;
      outcomes.set(token, await outcomeOf(`a call under ${token} of many`, () => call(resource, token)));
    }),
  );
  return outcomes;
}

const tokensFrom = (first: number): readonly number[] => Array.from({ length: CALLS }, (_, place) => first + place);

export const concurrencyCases: readonly ConformanceCase[] = [
  defineCase('of many installs at once the highest wins, without a deadlock', [], async (stage) => {
    const all = await connections(stage);
    const [resource] = all as readonly [FencedResource];
    const scope = await resource.scope();
    for (let round = 0; round < ROUNDS; round += 1) {
      const tokens = tokensFrom(1 + round * CALLS);
      const highest = tokens.at(-1) ?? 0;
      const outcomes = await allAtOnce(all, tokens, round, (each, token) => each.install(scope, { token }));
      expectThat(outcomes.get(highest)?.accepted === true, `the install of ${highest}, the highest, was refused`);
      await expectRefused(`a write under ${highest - 1} after all`, () =>
        resource.write(scope, { token: highest - 1 }, 'stale'),
      );
    }
    await expectAccepted('a write under the highest', () => resource.write(scope, { token: ROUNDS * CALLS }, 'mine'));
  }),

  defineCase('of many writes at once the highest is written last, without a deadlock', [], async (stage) => {
    const all = await connections(stage);
    const [resource] = all as readonly [FencedResource];
    const scope = await resource.scope();
    for (let round = 0; round < ROUNDS; round += 1) {
      const tokens = tokensFrom(1 + round * CALLS);
      const highest = tokens.at(-1) ?? 0;
      const outcomes = await allAtOnce(all, tokens, round, (each, token) =>
        each.write(scope, { token }, `by ${token}`),
      );
      expectThat(outcomes.get(highest)?.accepted === true, `the write under ${highest}, the highest, was refused`);
      await expectValue(resource, scope, `by ${highest}`, `an older write got in behind that under ${highest}`);
    }
  }),

  defineCase('writes at once under one token are all taken', [], async (stage) => {
    const all = await connections(stage);
    const [resource] = all as readonly [FencedResource];
    const scope = await resource.scope();
    for (let round = 0; round < ROUNDS; round += 1) {
      const [token, first] = [1 + round, round * CALLS];
      const values = tokensFrom(first);
      const outcomes = await allAtOnce(all, values, round, (each, value) => each.write(scope, { token }, `${value}`));
      for (const [value, { accepted }] of outcomes) {
        expectThat(accepted, `the write of ${value} was refused, though all writers had the same token`);
      }
      const value = Number(await resource.read(scope));
      expectThat(values.includes(value), `a read gave ${value}, which none of the writers of this round wrote`);
    }
  }),

  defineCase('an old holder that writes on is fenced from the moment of an install', [], async (stage) => {
    const [resource, other] = (await connections(stage)) as readonly [FencedResource, FencedResource];
    for (let round = 0; round < ROUNDS; round += 1) {
      const scope = await resource.scope();
      await expectAccepted('the first write', () => other.write(scope, { token: 1 }, '0'));
      let stopped = false;
      const zombie = async (): Promise<void> => {
        for (let count = 1; !stopped && count < 1_000; count += 1) {
          const { accepted } = await outcomeOf('a late write', () => other.write(scope, { token: 1 }, `${count}`));
          if (!accepted) return;
        }
      };
      const newcomer = async (): Promise<void> => {
        try {
          await expectAccepted('the install of 2', () => resource.install(scope, { token: 2 }));
          const first = await resource.read(scope, { token: 2 });
          for (let reads = 0; reads < 5; reads += 1) {
            await expectValue(resource, scope, first, 'an older write got in after the install of a newer holder', {
              holder: { token: 2 },
            });
          }
        } finally {
          stopped = true;
        }
      };
      await together([zombie(), newcomer()]);
    }
  }),
];
