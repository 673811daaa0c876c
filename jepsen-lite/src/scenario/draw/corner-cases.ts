/**
 * Draws what other scenarios hardly ever meet, and what a campaign must have met (targets/sim/marks): windows that are full, writes that a
 * power failure tears, snapshots that take so long that they are superseded, or that overtake a write of entries. From a stream of its own: it shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { oneOf } from '../../plan/choices.ts';
import { LEADER, serverHost, serverIds } from '../../plan/plan.ts';
import type { Fault } from '../../nemeses/index.ts';
import type { Draft } from './draft.ts';

/** Of so many scenarios one has the first of these, one the second, and so on. */
const ONE_IN = 12;
const FIRST_FAULT_MS = 2_000;
/** Between what is done about one server and the next. */
const GAP_MS = 5_000;
/** What is done about a server last is over before everything heals, a slow operation of its disk included. */
const LAST_MS = 8_000;

/** Most scenarios stay as they are. */
export function withCornerCases(scenario: Draft, random: Random): Draft {
  switch (random.integer(ONE_IN)) {
    case 0:
      return withNarrowReplication(scenario, random);
    case 1:
      return withTornWrites(scenario, random);
    case 2:
      // A member that is added has its time to catch up.
      return scenario.members === undefined ? withSlowSnapshots(scenario, random) : scenario;
    case 3:
      return withWritesOvertaken(scenario, random);
    default:
      return scenario;
  }
}

/** A leader has little under way to a follower, and a log takes several appends, as in production under load. */
function withNarrowReplication(scenario: Draft, random: Random): Draft {
  const maxInflightMessages = 1 + random.integer(2);
  // One entry alone, whatever its size; or a few.
  const maxAppendBytes = oneOf(random, [1, 500, 2_000]);
  return { ...scenario, replication: { maxInflightMessages, maxAppendBytes } };
}

/** Power failures of a server whose disk has become slow, so that what gathers meanwhile is one large write, and is under way. */
function withTornWrites(scenario: Draft, random: Random): Draft {
  return withFaults(scenario, random, (atMs, host) => {
    const slowMs = 50 + random.integer(400);
    return [
      { kind: 'slow-disk', atMs, forMs: 2_000, host, latency: { minMs: slowMs, maxMs: 2 * slowMs } },
      { kind: 'crash', atMs: atMs + 500 + random.integer(1_000), forMs: 500, hosts: [host], tear: 'random' },
    ];
  });
}

/** A server falls behind, is sent a snapshot slower than the log grows, and loses the leader that sends it. */
function withSlowSnapshots(scenario: Draft, random: Random): Draft {
  const snapshots = {
    logBytes: 4_000,
    trailingBytes: 0,
    sliceBytes: 1_000,
    chunkBytes: 256,
    bytesPerSecond: oneOf(random, [1_000, 2_000, 4_000]),
  };
  const others = serverIds(scenario).map(serverHost);
  return withFaults({ ...scenario, snapshots }, random, (atMs, host) => {
    const forMs = 2_000 + random.integer(2_000);
    const away: Fault = { kind: 'partition', atMs, forMs, groups: [[host], others] };
    const kill = { kind: 'kill', atMs: atMs + forMs + 200 + random.integer(2_000), forMs: 500 } as const;
    return random.integer(2) === 0 ? [away] : [away, { ...kill, hosts: [LEADER] }];
  });
}

/**
 * A server that is cut off has a write of entries under way, which takes longer than all that comes after it: until then the others
 * have forgotten what it needs, and it gets a snapshot.
 */
function withWritesOvertaken(scenario: Draft, random: Random): Draft {
  const snapshots = {
    logBytes: 4_000,
    trailingBytes: 0,
    sliceBytes: 20_000,
    chunkBytes: 4_096,
    bytesPerSecond: 100_000,
  };
  const others = serverIds(scenario).map(serverHost);
  return withFaults({ ...scenario, snapshots }, random, (atMs, host) => [
    { kind: 'slow-disk', atMs, forMs: 300, host, latency: { minMs: 4_000, maxMs: 7_000 } },
    { kind: 'partition', atMs: atMs + 250, forMs: 1_500 + random.integer(1_500), groups: [[host], others] },
  ]);
}

function withFaults(scenario: Draft, random: Random, draw: (atMs: number, host: string) => Fault[]): Draft {
  const servers = serverIds(scenario).map(serverHost);
  const faults = [...scenario.faults];
  for (let atMs = FIRST_FAULT_MS; atMs < scenario.durationMs - LAST_MS; atMs += GAP_MS + random.integer(GAP_MS)) {
    faults.push(...draw(atMs, oneOf(random, servers)));
  }
  return { ...scenario, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}
