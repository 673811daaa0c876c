/** Where the highest floor of each scope is kept. */

import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import { invalid } from '@holdfast/fence/adapter';
import { highest, install } from '@holdfast/fence-files';

export interface FloorStore {
  /**
   * Raises the floor of the scope to that of the holder, in one atomic step and as durably as the data that it protects. A lower one changes
   * nothing. Rejects with StaleTokenError where the token is below the floor that is there.
   */
  raise(scope: string, holder: Holder): Promise<void>;
  /** 0 where nothing was raised yet. */
  highest(scope: string): Promise<number>;
}

export interface MemoryFloorsOptions {
  /** A scope more is refused with RESOURCE, and forgets nobody: what is forgotten lets stale tokens in. @default 100,000 */
  readonly maxScopes?: number | undefined;
}

const DEFAULT_MAX_SCOPES = 100_000;

/**
 * Floors that end with the process: for data that do so as well, and for tests.
 *
 * @example
 * const fence = httpFence({ floors: memoryFloors(), scope: 'jobs' });
 */
export function memoryFloors({ maxScopes = DEFAULT_MAX_SCOPES }: MemoryFloorsOptions = {}): FloorStore {
  if (!Number.isSafeInteger(maxScopes) || maxScopes < 1) {
    throw invalid(`maxScopes is ${String(maxScopes)}; it is a whole number from 1`);
  }
  const floors = new Map<string, number>();
  return {
    async raise(scope, holder) {
      const floor = floors.get(scope);
      if (floor === undefined && floors.size >= maxScopes) {
        const text = `there are ${maxScopes} scopes already: raise maxScopes, and see who names the scopes of requests`;
        throw new FenceError('RESOURCE', text);
      }
      if (floor !== undefined && holder.token < floor) throw new StaleTokenError(scope, holder.token, floor);
      floors.set(scope, Math.max(floor ?? 0, floorOf(holder)));
    },
    highest: async (scope) => floors.get(scope) ?? 0,
  };
}

/**
 * Floors in files, synced before a request is let in. Processes of one machine may share the directory.
 *
 * @param directory one that exists, and that nothing else uses
 *
 * @example
 * const fence = httpFence({ floors: fileFloors('/var/lib/my-service/floors'), scope: 'jobs' });
 */
export function fileFloors(directory: string): FloorStore {
  return {
    raise: (scope, holder) => install(directory, scope, holder),
    highest: (scope) => highest(directory, scope),
  };
}
