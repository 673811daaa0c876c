/**
 * Draws clients that send requests one after another, each at once after an answer and all at the same times, and faults that strike
 * in the midst of that: leaders let proposals gather then, and lose them, hand them over, or wait in vain. From a stream of its own:
 * it shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { LEADER, BURST_EVERY_MS, serverHost, serverIds, type ClientPlan } from '../../plan/plan.ts';
import type { Fault } from '../../nemeses/index.ts';
import type { Scenario } from '../scenario.ts';

/** One run in so many, of those that are not about leases. */
const ONE_IN = 4;
/** One burst in so many is struck. */
const STRUCK_ONE_IN = 4;
/** A burst is mostly over by then. */
const MAX_BURST_MS = 120;
/** Within which clients come back before a leader gives them up. */
const NETWORK = { minMs: 0.1, maxMs: 1 };

/** The scenario with bursts in it; most are drawn none, and stay as they are. */
export function withBursts(scenario: Scenario, random: Random): Scenario {
  if (random.integer(ONE_IN) > 0) return scenario;
  const bursting = 2 + random.integer(scenario.clients.length - 1);
  const clients = scenario.clients.map((client, n): ClientPlan => {
    // One worker alone: nothing else of its session is under way, and what is lost for it stays lost.
    return n < bursting ? { ...client, workers: 1, bursts: true } : client;
  });
  const servers = serverIds(scenario).map(serverHost);
  const faults = [...scenario.faults];
  for (let atMs = BURST_EVERY_MS; atMs < scenario.durationMs; atMs += BURST_EVERY_MS) {
    if (random.integer(STRUCK_ONE_IN) > 0) continue;
    const client = `c${1 + random.integer(bursting)}`;
    faults.push(drawFault(random, atMs + 5 + random.integer(MAX_BURST_MS), client, servers));
  }
  return { ...scenario, clients, network: NETWORK, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

function drawFault(random: Random, atMs: number, client: string, servers: readonly string[]): Fault {
  const forMs = 1 + random.integer(1_000);
  switch (random.integer(6)) {
    case 0:
      return { kind: 'stop', atMs, forMs, host: LEADER };
    case 1:
      return { kind: 'kill', atMs, forMs, hosts: [LEADER] };
    case 2:
      // The last of these is shorter than what a leader waits for.
      return { kind: 'pause', atMs, forMs: Math.ceil(forMs / 4 ** random.integer(5)), host: LEADER };
    case 3:
      return { kind: 'pause', atMs, forMs, host: client };
    case 4:
      return { kind: 'break', atMs, hosts: [LEADER, client] };
    default:
      return {
        kind: 'partition',
        atMs,
        forMs: forMs + 1_000,
        groups: [[LEADER, client], servers],
      };
  }
}
