/** Runs the longest files first, so that no processor is idle at the end while another one has a long file before it. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes a minute, or nearly; the longest first. Nothing depends on it that none is missing. */
const LONGEST = [
  'jepsen-lite/test/e2e/live.test.ts',
  'packages/lockd/test/e2e/members.test.ts',
  'packages/lockd/test/e2e/upgrades/rolling-upgrade.test.ts',
  'jepsen-lite/test/e2e/resource.test.ts',
  'jepsen-lite/test/e2e/live-versions.test.ts',
  'jepsen-lite/test/e2e/properties.test.ts',
  'packages/ensemble/test/e2e/start.test.ts',
  'jepsen-lite/test/e2e/live-planted.test.ts',
  'packages/lockd/test/e2e/data/recover.test.ts',
  'packages/ensemble/test/e2e/survival.test.ts',
  'jepsen-lite/test/e2e/live-members.test.ts',
  'jepsen-lite/test/e2e/live/hangs.test.ts',
  'jepsen-lite/test/e2e/live-disks.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return place === -1 ? LONGEST.length : place;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
