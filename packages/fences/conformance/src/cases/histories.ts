/** Random calls of a seed, judged by the model: one after another, and some at once. What fails is told with its calls. */

import type { Holder } from '@holdfast/fence';
import { defineCase, type ConformanceCase, type Stage } from '../case.ts';
import { expectThat, inTime, outcomeOf, together } from '../checks.ts';
import { afterAll, EMPTY, stepText, type Model, type Step } from '../model.ts';
import { randomOf, type Random } from '../random.ts';
import type { FencedResource } from '../resource.ts';

const SEEDS = 6;
const ROUNDS = 25;
/** Tokens rise slowly, so that old and new ones meet. */
const SPREAD = 6;

interface Call {
  readonly kind: 'install' | 'write' | 'read';
  readonly holder: Holder;
  readonly floor: number;
  readonly value: string;
}

function draw(random: Random, round: number, name: string, withFloors: boolean): Call {
  const token = 1 + (round >> 1) + random.below(SPREAD);
  const floor = withFloors && random.below(3) === 0 ? Math.max(1, token - random.below(SPREAD)) : token;
  const kind = (['write', 'write', 'install', 'read'] as const)[random.below(4)] ?? 'write';
  return { kind, holder: floor === token ? { token } : { token, floor }, floor, value: name };
}

async function perform(resource: FencedResource, scope: string, call: Call): Promise<Step> {
  const { kind, holder, floor, value } = call;
  const { token } = holder;
  if (kind === 'read') return { kind, value: await inTime('a read', () => resource.read(scope)) };
  const what = `${kind} under ${token}`;
  if (kind === 'install') {
    const { accepted } = await outcomeOf(what, () => resource.install(scope, holder));
    return { kind, token, floor, accepted };
  }
  const { accepted } = await outcomeOf(what, () => resource.write(scope, holder, value));
  return { kind, token, floor, value, accepted };
}

async function play({ resource, another }: Stage, width: number, withFloors: boolean): Promise<void> {
  const all = [resource];
  while (all.length < width) all.push(await another());
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = randomOf(seed * 7919 + width);
    const scope = await resource.scope();
    let models: readonly Model[] = [EMPTY];
    const told: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const calls = all.map((_, place) => draw(random, round, `${seed}.${round}.${place}`, withFloors));
      const steps = await together(all.map((each, place) => perform(each, scope, calls[place] as Call)));
      told.push(steps.map(stepText).join(' | '));
      const next = afterAll(models, steps);
      const story = `seed ${seed}, round ${round}: no order of the calls has these outcomes under the rule`;
      expectThat(next.length > 0, `${story}:\n  ${told.slice(-6).join('\n  ')}`);
      models = next;
    }
  }
}

export const historyCases: readonly ConformanceCase[] = [
  defineCase('random calls one after another do as the model', [], (stage) => play(stage, 1, false)),
  defineCase('random calls at once do as the model in some order', [], (stage) => play(stage, 4, false)),
  defineCase('random calls with floors do as the model in some order', ['floors'], (stage) => play(stage, 3, true)),
];
