/**
 * The disk of one server as the harness sees it: a place for its data, and what can be done to it while the server runs. On Linux as
 * root it is a file system of its own, so that every fault is the kernel's and strikes nobody else; elsewhere it is a plain directory
 * that says which faults it lacks. What strikes is told when the kernel shows it, never when it was ordered. Between a power loss and
 * `remount` nothing else strikes.
 */

import type { StruckFault } from '@holdfast/runtime/sim';
import type { Delay } from '../../../plan/fields.ts';
import type { DISK_OPERATIONS, TEARS } from '../../../nemeses/target.ts';

export type Tear = (typeof TEARS)[number];
export type DiskOperation = (typeof DISK_OPERATIONS)[number];

/** The faults that a volume may lack; a bit can be flipped on any. */
export const VOLUME_FAULTS = ['powerLoss', 'hang', 'slow', 'failNext', 'fill'] as const;
export type VolumeFault = (typeof VOLUME_FAULTS)[number];

/** Called with what the kernel was seen to do, and how often. */
export type OnStruck = (effect: StruckFault, times: number) => void;

export interface Volume {
  readonly name: string;
  /** A directory for the server's data, made by the server itself, or empty. It stays the same over `remount`. */
  readonly path: string;
  /** Why a fault can't be done here. Those that it does not name can. */
  readonly lacks: ReadonlyMap<VolumeFault, string>;

  /**
   * The power of this disk fails: from now on every write and sync on it ends with EIO, and what was not durable is lost as `tear` says
   * once it is mounted again. `none` of it survives, `all` of it does, or a part: at `random`, the journal's last commit, or the sectors
   * of a write that was under way. The caller ends the process with SIGKILL, awaits that, and calls `remount`.
   *
   * Strikes: `crash` if `pid` lived and the kernel refused a write; at `remount` `unsynced-change-lost`, `unsynced-name-lost` and
   * `unsynced-change-torn`, by files of the harness's own beside the data.
   *
   * @param pid the process whose data it is; a write of it may be torn
   * @throws VolumeError when the volume lacks it, or the kernel refuses
   * @example
   * await volume.powerLoss('none', server.pid);
   * process.kill(server.pid, 'SIGKILL');
   * await serverEnded;
   * await volume.remount();
   */
  powerLoss(tear: Tear, pid?: number): Promise<void>;
  /** After a power loss: the journal is replayed, and what was lost is gone. No process may have a file open there any more. @throws VolumeError */
  remount(): Promise<void>;
  /**
   * No write and no sync ends before `forMs` milliseconds are over; reads and the processes themselves go on. Resolves when it has
   * begun. It ends by itself, with `heal` or `powerLoss`, and when the harness dies. It makes durable what was not. Strikes:
   * `sync-stalled`, once for each thread of `pid` that waits in the kernel for its end.
   */
  hang(forMs: number, pid: number): Promise<void>;
  /**
   * Each write waits until a time drawn from the range is over, at most the time of another with it, since the disk hangs again and
   * again. Undefined: as without faults. Strikes: `sync-slowed`, once for each thread of `pid` that waited.
   */
  slow(latency: Delay | undefined, pid: number): Promise<void>;
  /**
   * The next such system call of the process fails with EIO: `append` writes at a position, `sync` fsync or fdatasync, `read` reads at a
   * position. Resolves when it is armed; until then and until it struck, the process is traced, and slower. Disarmed by `heal`, and by
   * the end of the process. Strikes: `write-failed`, `sync-failed`, `read-failed`.
   */
  failNext(operation: DiskOperation, pid: number): Promise<void>;
  /** Not a byte is free until `free`. Waits while the disk hangs. Strikes: `no-space`, by a write of the harness's own that the kernel refused. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /**
   * While the server is down: one bit of what its log has acknowledged, anywhere but in its last batch. What reads it is the server.
   * @param at how far into the log, from 0 to 1
   * @returns whether there was enough of it
   */
  flipBit(at: number, bit: number): Promise<boolean>;
  /** As without faults: thawed, fast, with room, nothing armed. Not mounted again after a power loss. */
  heal(): Promise<void>;
  /**
   * Nothing strikes it any more, from now on, and what is on it can be read: what does not end by itself is ended by force.
   * @throws VolumeError when force was needed
   */
  letGo(): Promise<void>;
  /** Let go of, unmounted and deleted. No process may have a file open there any more. */
  close(): Promise<void>;
}

export class VolumeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VolumeError';
  }
}
