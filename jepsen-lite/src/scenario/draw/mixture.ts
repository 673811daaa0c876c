/**
 * Draws the faults of a scenario: a mixture of some nemeses, at a rate of its own, on its own machines and links; and then those nemeses
 * that have a stream of their own, so that they shift nothing that was drawn before.
 */

import type { Random } from '@holdfast/runtime';
import { NEMESES, nemesisOf, type Fault, type FaultKind } from '../../nemeses/index.ts';
import type { FaultBase, FaultDraw, Nemesis } from '../../nemeses/nemesis.ts';
import { LEADER, holderOf, lockName, serverHost, serverIds, type Plan } from '../../plan/plan.ts';
import type { Scenario } from '../scenario.ts';
import { between, oneOf } from '../../plan/choices.ts';

/** Faults begin when the first leader has had time to be elected. */
const FIRST_FAULT_MS = 1_000;
const MIN_GAP_MS = 400;
const MAX_GAP_MS = 4_000;

/** Short timeouts, and a fault as soon as somebody leads. */
const QUARREL: readonly FaultKind[] = ['crash', 'kill', 'partition', 'cut', 'clog', 'pause', 'stop'];
const MIN_QUARREL_GAP_MS = 100;
const MAX_QUARREL_GAP_MS = 500;
const LONGEST_OF_QUARREL_MS = 800;

export function drawMixture(random: Random, plan: Plan, quarrel: boolean): Fault[] {
  // One seed in ten is calm: what holds only under faults would hide here.
  if (!quarrel && random.integer(10) === 0) return [];
  const kinds = quarrel ? QUARREL.flatMap((kind) => nemesisOf(kind) ?? []) : drawKinds(random);
  const gapMs = quarrel
    ? between(random, MIN_QUARREL_GAP_MS, MAX_QUARREL_GAP_MS)
    : between(random, MIN_GAP_MS, MAX_GAP_MS);
  const drawLongestMs = quarrel ? (): number => LONGEST_OF_QUARREL_MS : longestMs;
  return drawFaults(random, plan, kinds, { gapMs, drawLongestMs });
}

/** With the nemeses of `all` in it that draw from streams of their own, and were drawn. */
export function withOwnStreams<S extends Scenario>(
  scenario: S,
  streamOf: (name: string) => Random,
  all: readonly Nemesis[] = NEMESES,
): S {
  const faults = [...scenario.faults];
  for (const nemesis of all.filter(({ ownStream }) => ownStream === true)) {
    const random = streamOf(`nemesis ${nemesis.kind}`);
    if (nemesis.oneIn === undefined || random.integer(nemesis.oneIn) > 0) continue;
    const gapMs = between(random, MIN_GAP_MS, MAX_GAP_MS);
    faults.push(...drawFaults(random, scenario, [nemesis], { gapMs, drawLongestMs: longestMs }));
  }
  return { ...scenario, faults };
}

function drawKinds(random: Random): readonly Nemesis[] {
  const mixture = NEMESES.filter(({ oneIn, ownStream }) => oneIn !== undefined && ownStream !== true);
  const kinds = mixture.filter(({ oneIn }) => random.integer(oneIn ?? Infinity) === 0);
  return kinds.length > 0 ? kinds : mixture.slice(0, 1);
}

interface Rate {
  /** On the average; twice as long at most. */
  readonly gapMs: number;
  /** How long the next one lasts at most. */
  readonly drawLongestMs: (random: Random) => number;
}

function longestMs(random: Random): number {
  return oneOf(random, [500, 3_000, 8_000]);
}

function drawFaults(random: Random, plan: Plan, kinds: readonly Nemesis[], { gapMs, drawLongestMs }: Rate): Fault[] {
  const drawOf = drawsOf(random, plan);
  const faults: FaultBase[] = [];
  for (let atMs = FIRST_FAULT_MS; atMs < plan.durationMs; atMs += 1 + random.integer(2 * gapMs)) {
    const nemesis = oneOf(random, kinds);
    const lasting = { atMs: Math.floor(atMs), forMs: 1 + random.integer(drawLongestMs(random)) };
    faults.push(...(nemesis.draw?.(drawOf(lasting, faults)) ?? []));
  }
  // Each nemesis draws its own faults, and those are what a scenario may hold.
  return faults as Fault[];
}

/** What faults of these machines and links are drawn from, one after another. */
export function drawsOf(
  random: Random,
  plan: Plan,
): (lasting: FaultDraw['lasting'], drawn: readonly FaultBase[]) => FaultDraw {
  const servers = serverIds(plan).map(serverHost);
  const clients = plan.clients.map(({ name }) => name);
  const anyServer = (): string => (random.integer(3) === 0 ? LEADER : oneOf(random, servers));
  const anyClient = (): string =>
    random.integer(3) > 0 ? holderOf(lockName(random.integer(plan.locks))) : oneOf(random, clients);
  const anyLink = (): [string, string] => {
    const from = anyServer();
    const to = oneOf(random, [...servers.filter((name) => name !== from), anyClient()]);
    return random.integer(2) === 0 ? [from, to] : [to, from];
  };
  return (lasting, drawn) => {
    const server = anyServer();
    const host = oneOf(random, [server, anyClient()]);
    return { random, plan, lasting, drawn, servers, clients, server, host, anyServer, anyClient, anyLink };
  };
}
