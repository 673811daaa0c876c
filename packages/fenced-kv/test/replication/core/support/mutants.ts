/** Cores with one rule broken. */

import { RULES, type Rules } from '../../../../src/replication/core/index.ts';
import type { WorldOptions } from './world.ts';

const REPLICAS = 3;

function withRules(broken: Partial<Rules>): WorldOptions {
  return { replicas: REPLICAS, rules: { ...RULES, ...broken } };
}

/** The value that a majority has reached. */
function ofMajority(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => b - a);
  return sorted[Math.floor(REPLICAS / 2)] ?? sorted.at(-1) ?? 0;
}

export const RIGHT: WorldOptions = withRules({});

export const MUTANTS: Readonly<Record<string, WorldOptions>> = {
  'installs its epoch on a majority only': withRules({
    serves: (inForce, matchOf, barrier) => ofMajority(inForce.map((replica) => matchOf(replica))) >= barrier,
  }),
  'serves before it has installed its epoch': withRules({ serves: () => true }),
  'claims with an in-sync set that does not overlap the one before': withRules({
    claim: ({ inSync }, self) => (inSync.includes(self) ? inSync : [self]),
  }),
  'believes a stale replica that comes back': withRules({ joins: () => true }),
  'acknowledges before all in-sync replicas have a write': withRules({
    committed: (inForce, matchOf) => ofMajority(inForce.map((replica) => matchOf(replica))),
  }),
  'acknowledges what only the primary has': withRules({
    committed: (inForce, matchOf) => Math.max(...inForce.map((replica) => matchOf(replica))),
  }),
  'takes entries of an epoch that is not installed': withRules({ accepts: () => true }),
  'answers reads without asking': withRules({ confirmed: () => true }),
  'believes in a removal before the ensemble has answered': withRules({
    inForce: (current, pending) => (pending ?? current).inSync,
  }),
  'waits for a replica that joins only when the ensemble has answered': withRules({
    inForce: (current) => current.inSync,
  }),
  'begins with a copy that comes late': withRules({ begins: () => true }),
  'reveals what is not durable yet': { ...RIGHT, revealsTooEarly: true },
  'counts as applied what its buckets do not have durably': { ...RIGHT, appliesTooEarly: true },
  'keeps old keys when it gets a copy': { ...RIGHT, keepsBuckets: true },
};
