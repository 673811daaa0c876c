/** What the suite needs of a resource: whoever has a resource of their own writes this once. */

import type { Holder } from '@holdfast/fence';

/** A write that has verified its token, and is not committed yet. */
export interface SlowWrite {
  /** Commits. Rejects where the write was refused, or its transaction was ended meanwhile; then nothing was written. */
  finish(): Promise<void>;
  /** Rolls back, or drops the connection. */
  abandon(): Promise<void>;
}

/** A resource with one connection of its own. Calls reject with an error whose `code` or `name` begins with STALE_TOKEN or StaleToken if refused. */
export interface FencedResource {
  /** A fresh scope of its own each time: nobody has written or installed there. */
  scope(): string | Promise<string>;
  /**
   * The fenced write of a cell of the scope, as an application calls it. Without a cell, or where there are no `cells`, it is the same one each time.
   */
  write(scope: string, holder: Holder, value: string, cell?: string): Promise<void>;
  /** The value, or null where nothing was written. With a holder: the read of a holder, after its install. */
  read(scope: string, holder?: Holder, cell?: string): Promise<string | null>;
  /** Tells the resource of a holder before it reads. */
  install(scope: string, holder: Holder): Promise<void>;
  /** A second, independent connection or process to the same data. */
  other?(): Promise<FencedResource>;
  /** Stops and starts the resource's server (cleanly). The next call may be over a new connection. */
  restart?(): Promise<void>;
  /** Kills the resource's server (SIGKILL) and starts it. */
  crash?(): Promise<void>;
  /** Begins a write, and gives control back between its check and its commit. */
  slowWrite?(scope: string, holder: Holder, value: string): Promise<SlowWrite>;
  /** Floors of those who share a lock are understood. @default true */
  readonly floors?: boolean;
  /** `write` and `read` know several cells of a scope. @default false */
  readonly cells?: boolean;
  close?(): Promise<void>;
}

/** What a case needs beyond `scope`, `write`, `read` and `install`. */
export type Capability = 'other' | 'restart' | 'crash' | 'slowWrite' | 'floors' | 'cells';

/** @returns those that the resource does not have */
export function missingCapabilities(resource: FencedResource, needs: readonly Capability[]): readonly Capability[] {
  return needs.filter((need) => {
    if (need === 'floors') return resource.floors === false;
    if (need === 'cells') return resource.cells !== true;
    return typeof resource[need] !== 'function';
  });
}
