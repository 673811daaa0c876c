/** All checkers over one history, and whether there was enough to check. */

import type { History } from '../history/history.ts';
import { checkBelief } from './locks/belief.ts';
import { checkBoundedWaiting } from './locks/waiting/bounded-waiting.ts';
import { checkCompletions } from './completions.ts';
import { checkDeadlocks } from './locks/waiting/deadlocks.ts';
import { checkDelays } from './locks/waiting/delays.ts';
import { checkExclusion } from './locks/exclusion.ts';
import { checkExpiry } from './locks/expiry.ts';
import { checkEntries } from './locks/kinds/entries.ts';
import { checkSeveral } from './locks/kinds/several.ts';
import { checkFence } from './store/fence.ts';
import { checkGhosts } from './locks/ghosts.ts';
import { checkGrantedTokens } from './store/granted-tokens.ts';
import { checkGrants } from './locks/grants.ts';
import { checkLinearizableLocks } from './locks/linearizable.ts';
import { checkConfigurations } from './replicas/configurations.ts';
import { checkEpochs } from './replicas/epochs.ts';
import { checkLinearizableKeys } from './replicas/linearizable-keys.ts';
import { checkReplicas } from './replicas/replicas.ts';
import { checkContainers } from './nodes/containers.ts';
import { checkTransactions } from './nodes/transactions.ts';
import { checkTtlNodes } from './nodes/ttl-nodes.ts';
import { checkExactlyOnce } from './registers/exactly-once.ts';
import { checkListAppend } from './registers/list-append.ts';
import { checkLiveness } from './liveness.ts';
import { checkLostUpdates } from './store/lost-updates.ts';
import { checkOrder } from './locks/waiting/order.ts';
import { checkOwners } from './locks/owners.ts';
import { checkRegisters } from './registers/registers.ts';
import { checkReleases } from './locks/releases.ts';
import { checkSharedReads } from './store/shared-reads.ts';
import { checkTokens } from './locks/tokens.ts';
import { checkTransfers } from './store/transfers.ts';
import { checkUnfenced } from './store/unfenced.ts';
import { checkWaits } from './locks/waiting/waits.ts';
import { checkWatches } from './watches.ts';
import type { Checker, CheckOptions, Verdict } from './verdict.ts';

export const CHECKERS = {
  completions: checkCompletions,
  grants: checkGrants,
  owners: checkOwners,
  tokens: checkTokens,
  order: checkOrder,
  waits: checkWaits,
  'bounded-waiting': checkBoundedWaiting,
  exclusion: checkExclusion,
  belief: checkBelief,
  releases: checkReleases,
  ghosts: checkGhosts,
  expiry: checkExpiry,
  several: checkSeveral,
  entries: checkEntries,
  deadlocks: checkDeadlocks,
  delays: checkDelays,
  fence: checkFence,
  'granted-tokens': checkGrantedTokens,
  'lost-updates': checkLostUpdates,
  'shared-reads': checkSharedReads,
  transfers: checkTransfers,
  'linearizable-locks': checkLinearizableLocks,
  // Direct predicates first; what searches for an order is the second opinion.
  'list-append': checkListAppend,
  'exactly-once': checkExactlyOnce,
  registers: checkRegisters,
  liveness: checkLiveness,
  unfenced: checkUnfenced,
  watches: checkWatches,
  transactions: checkTransactions,
  'ttl-nodes': checkTtlNodes,
  containers: checkContainers,
  epochs: checkEpochs,
  configurations: checkConfigurations,
  replicas: checkReplicas,
  'linearizable-keys': checkLinearizableKeys,
} as const satisfies Readonly<Record<string, Checker>>;

export type CheckerName = keyof typeof CHECKERS;

/** How much must have been counted, by checker and count. */
export type Expectations = Readonly<Partial<Record<CheckerName, Readonly<Record<string, number>>>>>;

/** All of them, or those that are named. */
export function checkHistory(
  history: History,
  options: CheckOptions & { readonly checkers?: readonly CheckerName[] } = {},
): Verdict[] {
  const names = options.checkers ?? (Object.keys(CHECKERS) as CheckerName[]);
  return names.map((name) => CHECKERS[name](history, options));
}

/** False before unknown before true: what was not checked is never as good as what was. */
export function worst(verdicts: readonly Verdict[]): Verdict['valid'] {
  if (verdicts.some((verdict) => verdict.valid === false)) return false;
  return verdicts.length === 0 || verdicts.some((verdict) => verdict.valid === 'unknown') ? 'unknown' : true;
}

/** 'unknown' where something was seen too seldom: the run has not tried what it was meant to. */
export function checkExpectations(verdicts: readonly Verdict[], expectations: Expectations): Verdict {
  const counts: Record<string, number> = {};
  const broken: { message: string; events: number[] }[] = [];
  for (const [checker, minimums] of Object.entries(expectations)) {
    const verdict = verdicts.find((candidate) => candidate.checker === checker);
    for (const [name, minimum] of Object.entries(minimums)) {
      const count = verdict?.counts[name];
      counts[`${checker}.${name}`] = count ?? 0;
      if (count !== undefined && count >= minimum) continue;
      const saw = count === undefined ? 'was not counted' : `was ${count}`;
      broken.push({ message: `${checker}: "${name}" ${saw}, at least ${minimum} was expected`, events: [] });
    }
  }
  return { checker: 'expectations', valid: broken.length === 0 ? true : 'unknown', broken, counts };
}
