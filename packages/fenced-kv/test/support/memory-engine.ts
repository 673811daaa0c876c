/** An engine without a disk, for tests of what lies above engines. It may be told to fail. */

import type { Engine } from '../../src/engines/engine.ts';
import { GroupCommit } from '../../src/engines/group-commit.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';

export interface MemoryEngine extends Engine {
  /** Makes the next commit fail as a disk does. */
  failNext(): void;
  /** From now on what is written can be read, and is answered only after the release that this returns: as with LMDB, for a moment. */
  holdAnswers(): () => void;
  /** From now on each write of the disk takes so long. */
  slowDown(ms: number): void;
  /** How many groups were persisted. */
  readonly groups: number;
}

export function memoryEngine(map: SortedMap = new SortedMap()): MemoryEngine {
  let failing = false;
  let groups = 0;
  let released: Promise<void> = Promise.resolve();
  let slowMs = 0;
  const commits = new GroupCommit({
    get: (key) => map.get(key),
    persist: async (writes) => {
      if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs));
      await Promise.resolve();
      if (failing) throw new Error('EIO: the disk is gone');
      for (const write of writes) map.apply(write);
      groups += 1;
      await released;
    },
    onFailure() {},
  });
  return {
    read(body) {
      commits.assertUsable();
      return body(map);
    },
    commit: async (body) => await commits.commit(body),
    close: async () => await commits.close(),
    failNext() {
      failing = true;
    },
    holdAnswers() {
      let release = (): void => {};
      released = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    slowDown(ms) {
      slowMs = ms;
    },
    get figures() {
      return commits.figures;
    },
    get groups() {
      return groups;
    },
  };
}
