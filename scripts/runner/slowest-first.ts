/**
 * In which order test files begin: those that take longest first, so that no processor waits for the last one. A checkout of continuous
 * integration has no times of an earlier run, and the size of a file says little of how long it takes.
 */

import { relative } from 'node:path';

import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { root } from './tool.mjs';

/** Ten seconds and more of a machine with two processors, the longest first; by project. `slowest-first.test.ts` knows them to be there. */
export const SLOW_FILES: readonly string[] = [
  'bench/test/e2e/locks.test.ts',
  'packages/lockd/test/e2e/members.test.ts',
  'packages/lockd/test/e2e/upgrades/rolling-upgrade.test.ts',
  'packages/fences/s3/test/e2e/conformance.test.ts',
  'packages/fences/files/test/e2e/processes.test.ts',
  'scripts/test/e2e/packages.test.ts',
  'packages/ensemble/test/e2e/examples.test.ts',
  'jepsen-lite/test/e2e/resource.test.ts',
  'packages/ensemble/test/e2e/replicas/replicated-store.test.ts',
  'packages/ensemble/test/e2e/replicas/operators.test.ts',
  'jepsen-lite/test/e2e/resource-postgres.test.ts',
  'bench/test/e2e/fences.test.ts',
  'packages/fences/redis/test/e2e/conformance.test.ts',
  'jepsen-lite/test/e2e/live/store-power-loss.test.ts',
  'jepsen-lite/test/e2e/mutants.test.ts',
  'packages/ensemble/test/e2e/start.test.ts',
  'packages/ensemble/test/e2e/applications.test.ts',
  'packages/ensemble/test/e2e/lockctl.test.ts',
  'jepsen-lite/test/e2e/live/strangers.test.ts',
  'packages/fences/files/test/e2e/conformance.test.ts',
  'jepsen-lite/test/e2e/promises/real.test.ts',
  'jepsen-lite/test/e2e/live-disks.test.ts',
  'packages/fences/mysql/test/e2e/conformance.test.ts',
  'packages/fenced-kv/test/e2e/admin.test.ts',
  'packages/ensemble/test/e2e/outage.test.ts',
  'packages/lockd/test/e2e/upgrades/load.test.ts',
  'packages/fences/postgresql/test/e2e/conformance.test.ts',
  'jepsen-lite/test/e2e/usage.test.ts',
  'jepsen-lite/test/e2e/live-clocks.test.ts',
  'packages/fences/http/test/e2e/conformance.test.ts',
  'packages/lockd/test/e2e/data/power-loss.test.ts',
  'packages/ensemble/test/e2e/disks/disk-errors.test.ts',
  'jepsen-lite/test/e2e/live-members.test.ts',
  'packages/lockd/test/e2e/data/recover.test.ts',
  'packages/fences/mysql/test/e2e/fence.test.ts',
  'packages/fenced-kv/test/e2e/backup.test.ts',
  'packages/lockd/test/e2e/lagging-member.test.ts',
  'jepsen-lite/test/e2e/live-mutants.test.ts',
  // Of the fast ones.
  'jepsen-lite/test/properties/state-machine.test.ts',
  'jepsen-lite/test/workloads/locks/shared-locks.test.ts',
  'packages/state/test/memory-bounds.test.ts',
  'jepsen-lite/test/checkers/random-histories.test.ts',
  'jepsen-lite/test/properties/promises-can-fail.test.ts',
  'jepsen-lite/test/explore/explore.test.ts',
  'packages/raft/test/core/schedules/random-changes.test.ts',
  'packages/raft/test/log-store/wal/power-cuts.test.ts',
  'jepsen-lite/test/targets/sim/strikes.test.ts',
  'jepsen-lite/test/targets/sim/lost-majority.test.ts',
  'jepsen-lite/test/checkers/linearizability/random-histories.test.ts',
  'packages/state/test/sessions/reply-bytes.test.ts',
  'packages/raft/test/log-store/snapshots/snapshot-crashes.test.ts',
  'jepsen-lite/test/targets/sim/run.test.ts',
  'jepsen-lite/test/targets/sim/replicas/group.test.ts',
  // Under faults, two at a time.
  'jepsen-lite/test/e2e/live.test.ts',
];

const PLACES: ReadonlyMap<string, number> = new Map(SLOW_FILES.map((file, place) => [file, place]));

export class SlowestFirst extends BaseSequencer {
  /** Of those that are not listed, as vitest does: by the times of an earlier run where there are some. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const placeOf = ({ moduleId }: TestSpecification): number =>
      PLACES.get(relative(root, moduleId)) ?? SLOW_FILES.length;
    return sorted.toSorted((left, right) => placeOf(left) - placeOf(right));
  }
}
