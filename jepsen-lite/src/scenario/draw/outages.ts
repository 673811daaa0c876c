/**
 * Draws a long outage of the network between servers, which lasts to the end of the faults: TCP's pauses are long by then, and what
 * waits for the next one is missed on the healed cluster. From a stream of its own: it shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { LEADER, serverHost, serverIds } from '../../plan/plan.ts';
import type { Fault } from '../../nemeses/index.ts';
import type { Draft } from './draft.ts';

/** One run in so many, of those that are not about leases. */
const ONE_IN = 8;
const MIN_OUTAGE_MS = 4_000;
const MAX_OUTAGE_MS = 30_000;

/** The scenario with an outage in it; most are drawn none, and stay as they are. */
export function withOutage(scenario: Draft, random: Random): Draft {
  if (random.integer(ONE_IN) > 0) return scenario;
  const forMs = Math.min(MIN_OUTAGE_MS + random.integer(MAX_OUTAGE_MS - MIN_OUTAGE_MS), scenario.durationMs / 2);
  const atMs = Math.floor(scenario.durationMs - forMs);
  const faults = drawOutage(random, scenario).map((fault): Fault => ({ ...fault, atMs, forMs }) as Fault);
  return { ...scenario, faults: [...scenario.faults, ...faults].toSorted((a, b) => a.atMs - b.atMs) };
}

type Outage = { readonly kind: 'partition'; readonly groups: string[][] } | { kind: 'cut'; from: string; to: string };

/** Everybody alone, one server alone, or one that nobody hears, or that hears nobody. */
function drawOutage(random: Random, scenario: Draft): Outage[] {
  const servers = serverIds(scenario).map(serverHost);
  const shape = random.integer(4);
  if (shape === 0) return [{ kind: 'partition', groups: servers.map((server) => [server]) }];
  const one = random.integer(2) === 0 ? LEADER : (servers[random.integer(servers.length)] ?? LEADER);
  // A name that is in both groups stays in the first.
  if (shape === 1) return [{ kind: 'partition', groups: [[one], servers] }];
  // A cut from a server to itself is none.
  return servers.map((server) =>
    shape === 2 ? { kind: 'cut', from: one, to: server } : { kind: 'cut', from: server, to: one },
  );
}
