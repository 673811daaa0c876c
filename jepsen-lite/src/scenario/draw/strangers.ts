/**
 * Draws strangers: a process that belongs to nobody dials the peer ports in the name of members and of others, and takes the port of a
 * server that does not run, from the beginning or after a crash; and clients send again what they have sent. From a stream of its own: it
 * shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { between, oneOf } from '../../plan/choices.ts';
import { serverHost, serverIds } from '../../plan/plan.ts';
import type { Fault, StrangerFault } from '../../nemeses/index.ts';
import type { Draft } from './draft.ts';

/** One run in so many, of those that are not about leases; and of those in which the members change. */
const ONE_IN = 4;
const ONE_IN_WITH_CHANGES = 2;
const MAX_GAP_MS = 2_000;
const MAX_REPLAY_GAP_MS = 8_000;
/** A member that the ensemble begins with may come so late, and its port is taken until then; not where members change. */
const MAX_LATE_MS = 8_000;
const MAX_OUTAGE_MS = 5_000;
const UNKNOWN_SERVER = 99;

/** With strangers in it; most are drawn none, and stay as they are. */
export function withStrangers(scenario: Draft, random: Random): Draft {
  const aboutLeases = scenario.clients.some(({ longSteps }) => longSteps !== undefined);
  const { durationMs, members } = scenario;
  if (aboutLeases || random.integer(members === undefined ? ONE_IN : ONE_IN_WITH_CHANGES) > 0) return scenario;
  const ids = serverIds(scenario);
  const server = oneOf(random, ids);
  const strangers: StrangerFault[] = [];
  const faults: Fault[] = [...scenario.faults];
  if (random.integer(3) > 0 && members === undefined) {
    strangers.push({ kind: 'usurp', atMs: 0, forMs: between(random, 1_000, MAX_LATE_MS), server });
  }
  strangers.push({ kind: 'usurp', atMs: MAX_LATE_MS, forMs: durationMs, server });
  const crashAtMs = MAX_LATE_MS + random.integer(durationMs);
  faults.push({
    kind: 'crash',
    atMs: crashAtMs,
    forMs: between(random, 500, MAX_OUTAGE_MS),
    hosts: [serverHost(server)],
    tear: 'random',
  });
  for (let atMs = between(random, 1, 500); atMs < durationMs; atMs += between(random, 1, MAX_GAP_MS)) {
    strangers.push({
      kind: 'intrude',
      atMs,
      server: oneOf(random, ids),
      as: oneOf(random, [...ids, UNKNOWN_SERVER]),
      purpose: oneOf(random, ['log', 'log', 'snapshot', 'expulsion'] as const),
      hasty: random.integer(4) === 0,
    });
  }
  for (let atMs = between(random, 500, 2_000); atMs < durationMs; atMs += between(random, 1, MAX_REPLAY_GAP_MS)) {
    strangers.push({ kind: 'replay', atMs, server: oneOf(random, ids) });
  }
  const inTime = ({ atMs }: Fault): boolean => atMs < durationMs;
  return { ...scenario, strangers, faults: faults.filter(inTime).toSorted((a, b) => a.atMs - b.atMs) };
}
