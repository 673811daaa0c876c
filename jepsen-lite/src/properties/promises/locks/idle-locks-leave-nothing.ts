/** A lock exists while somebody holds it or waits for it, or it is delayed; then its container and queue nodes are gone. */

import { encodeLockName, LOCKS_PATH } from '@holdfast/protocol';

import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function idleLocksLeaveNothing(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'an idle lock leaves nothing',
    observe({ changes, after }) {
      for (const change of changes) acquires = changed(acquires, change);
      const sizes = new Map<string, number>();
      for (const { lock } of acquires) sizes.set(encodeLockName(lock), (sizes.get(encodeLockName(lock)) ?? 0) + 1);
      for (const lock of after.delays.keys()) sizes.set(encodeLockName(lock), sizes.get(encodeLockName(lock)) ?? 0);
      const containers = after.nodes.get(LOCKS_PATH)?.names ?? [];
      const wrong = difference(containers, [...sizes.keys()].sort());
      demand(wrong === undefined, () => `the containers of locks${wrong}`);
      for (const container of containers) {
        const nodes = after.nodes.get(`${LOCKS_PATH}/${container}`)?.names.length;
        demand(
          nodes === sizes.get(container),
          () => `${container} has ${nodes} queue nodes for ${sizes.get(container)} acquires`,
        );
      }
      const other = [...after.nodes.keys()].filter((path) => !path.startsWith(`${LOCKS_PATH}/`)).length;
      const expected = other + sizes.size + acquires.length;
      demand(
        after.counts.nodes === expected,
        () => `${after.counts.nodes} nodes are counted, and ${expected} are used`,
      );
      demand(
        after.counts.locks === sizes.size,
        () => `${after.counts.locks} locks are counted, and ${sizes.size} are in use`,
      );
    },
  };
}
