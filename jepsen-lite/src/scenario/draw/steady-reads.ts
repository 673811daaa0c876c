/**
 * Draws clients that read at a steady rate, faster than a leader sends heartbeats, so that rounds of reads take the place of these; and
 * the faults that a leader finds out by the absence of something: disks that hang, its own and those of followers with clients, under a
 * load that waits for every answer, and voters that fall silent, of which another is removed meanwhile. From a stream of its own: it
 * shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { between } from '../../plan/choices.ts';
import { LEADER, BURST_EVERY_MS, serverHost, type ClientPlan } from '../../plan/plan.ts';
import type { Fault } from '../../nemeses/index.ts';
import type { Draft } from './draft.ts';

/** One run in so many, of those that are not about leases. */
const ONE_IN = 8;
/** Shorter than the heartbeats of all such runs, the answer included. */
const MIN_READ_EVERY_MS = 20;
const MAX_READ_EVERY_MS = 60;
const MAX_CLIENTS = 3;
/** Fast, so that a follower from whom something is kept for 10 ms is waited for if anybody is. */
const NETWORK = { minMs: 0.1, maxMs: 1 };
const DISK = { minMs: 0.05, maxMs: 1 };
/** Of faults and load: the reads cost time. */
const MAX_DURATION_MS = 20_000;
/** A fault begins so much before a burst, or within it. */
const BEFORE_MS = 200;
const WITHIN_MS = 60;

/** The scenario with steady reads in it; most are drawn none, and stay as they are. */
export function withSteadyReads(drawn: Draft, random: Random): Draft {
  if (random.integer(ONE_IN) > 0) return drawn;
  const electionTimeoutMs = between(random, 500, 1_000);
  const scenario: Draft = {
    ...drawn,
    clients: drawn.clients.slice(0, MAX_CLIENTS).map((client): ClientPlan => {
      const readEveryMs = between(random, MIN_READ_EVERY_MS, MAX_READ_EVERY_MS);
      return { ...client, workers: 1, bursts: true, readEveryMs };
    }),
    tuning: { ...drawn.tuning, electionTimeoutMs, heartbeatMs: Math.floor(electionTimeoutMs / 5) },
    network: NETWORK,
    disk: DISK,
    durationMs: Math.min(drawn.durationMs, MAX_DURATION_MS),
    faults: [],
  };
  return random.integer(2) === 0 ? withRemoval(scenario, random) : withoutClientsAtOne(scenario, random);
}

/** Three servers, of which one has no clients and another one's disk hangs: a leader may wait for one that answers, or for one that does not. */
function withoutClientsAtOne(scenario: Draft, random: Random): Draft {
  const { durationMs, clients } = scenario;
  const [idle, hung] = random.integer(2) === 0 ? [1, 2] : [2, 3];
  const groups = [clients.map(({ name }) => name), [serverHost(idle)]];
  const faults: Fault[] = [{ kind: 'partition', atMs: 1, forMs: durationMs, groups }];
  return { ...scenario, servers: 3, faults: [...faults, ...drawHangs(random, scenario, serverHost(hung))] };
}

/** At every burst; mostly a disk, for so long that its server must be found out. */
function drawHangs(random: Random, { durationMs, tuning }: Draft, server: string): Fault[] {
  const faults: Fault[] = [];
  for (let burstMs = BURST_EVERY_MS; burstMs < durationMs; burstMs += BURST_EVERY_MS) {
    const atMs = burstMs - BEFORE_MS + random.integer(BEFORE_MS + WITHIN_MS);
    const forMs = Math.floor(tuning.electionTimeoutMs * (2.2 + 2 * random.next()));
    const host = random.integer(3) === 0 ? LEADER : server;
    faults.push({ kind: random.integer(4) === 0 ? 'pause' : 'hung-disk', atMs, forMs, host });
  }
  return faults;
}

/** As many voters as may stop for some timeouts, and when they have been silent for more than two another one is to be removed. */
function withRemoval(scenario: Draft, random: Random): Draft {
  const { servers, tuning, durationMs } = scenario;
  // A majority without one of those that answer needs one of those that do not.
  const first = between(random, 1, servers);
  const inTurn = Array.from({ length: servers }, (_, n) => 1 + ((first + n) % servers));
  const silent = inTurn.slice(0, Math.floor(servers / 2));
  const removed = inTurn.at(-1) ?? first;
  const atMs = between(random, BURST_EVERY_MS, Math.max(BURST_EVERY_MS, durationMs - 6 * tuning.electionTimeoutMs));
  const forMs = 5 * tuning.electionTimeoutMs;
  const removeAtMs = atMs + Math.floor(tuning.electionTimeoutMs * (2.5 + random.next()));
  const stops = silent.map((id): Fault => ({ kind: 'pause', atMs, forMs, host: serverHost(id) }));
  const hangs = drawHangs(random, scenario, serverHost(between(random, 1, servers)));
  return {
    ...scenario,
    faults: [...stops, ...hangs].toSorted((a, b) => a.atMs - b.atMs),
    members: [{ kind: 'remove-member', atMs: removeAtMs, server: removed }],
  };
}
