/** Whole ensembles under faults: one attempt is one seed of `jepsen sim`. */

import { runSeed } from '../../targets/sim/run.ts';
import type { Detector, Failure } from '../attempt.ts';
import type { ShownBy } from '../mutant.ts';

/** What the simulation calls an error that it does not expect, whatever it is. */
const CATCH_ALL = 'no-unexpected-error';
const BROKEN_INVARIANT = /InvariantError: broken invariant: ([^\n(]+)/;
/** Servers that refuse a log which no fault has damaged. */
const DAMAGED_LOG = /^\S+ DamagedLogError: /;
/** And those that refuse a snapshot which is whole on disk. */
const UNSOUND_SNAPSHOT = /^\S+ SnapshotError: /;

export function simulationOf(shownBy: ShownBy | undefined): Detector {
  return async (seed) => {
    const options = shownBy === undefined ? {} : { workloads: [shownBy.workload] };
    const { failure, simulatedMs } = await runSeed(seed, options);
    return { failure: failure && toBeShown(classify(failure), shownBy), simulatedMs };
  };
}

/** What another promise says is not what was asked; an error that nobody foresees is told in any case. */
function toBeShown(failure: Failure, shownBy: ShownBy | undefined): Failure | undefined {
  const isOther = shownBy?.checker !== undefined && failure.name !== `history: ${shownBy.checker}`;
  return failure.kind === 'promise' && isOther ? undefined : failure;
}

/** An unexpected error counts when the product itself has noticed that something is wrong and stopped. */
export function classify({ name, message }: { readonly name: string; readonly message: string }): Failure {
  if (name !== CATCH_ALL) return { kind: 'promise', name, message };
  const invariant = BROKEN_INVARIANT.exec(message)?.[1];
  if (invariant !== undefined) return { kind: 'promise', name: invariant.trim(), message };
  if (DAMAGED_LOG.test(message)) return { kind: 'promise', name: 'a-log-that-nothing-damaged-is-whole', message };
  if (UNSOUND_SNAPSHOT.test(message)) return { kind: 'promise', name: 'a-snapshot-holds-what-it-says', message };
  return { kind: 'unexpected', name, message };
}
