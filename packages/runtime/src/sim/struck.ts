/**
 * What really struck: faults are counted where they took effect on a program, not where they were ordered. A cut that held
 * no frame did not strike.
 */

export const STRUCK_FAULTS = [
  /** Frames, openings and closings of connections that a cut dropped, or that waited behind those. */
  'frame-held-by-cut',
  'frame-held-by-clog',
  /** By `slow`: took longer than it can on the same link otherwise. */
  'frame-slowed',
  /** By `limitBandwidth`: bytes of frames that waited a millisecond or more for their turn on a link. */
  'bytes-delayed',
  /** What was sent again, or what acknowledges it, was dropped as well: the next pause is twice as long. */
  'retransmission-lost',
  /** By `setPacketLoss`: something that travelled, or was sent again. */
  'packet-dropped',
  /** Lost with the connection that carried it, because that broke or its sender died. */
  'frame-lost',
  /** By `breakConnections` or `setConnectionLoss`. */
  'connection-broken',
  /** By `setDials`, as is the next. */
  'dial-refused',
  'dial-hung',
  /** By `failNext`, as are the next four. */
  'read-failed',
  'write-failed',
  'write-partly-done',
  'sync-failed',
  /** Of any other operation. */
  'disk-operation-failed',
  'no-space',
  /** By `slow`: took longer than it can on the same disk otherwise. */
  'sync-slowed',
  'disk-operation-slowed',
  'sync-stalled',
  'disk-operation-stalled',
  /** Writes and truncations at a power failure. */
  'unsynced-change-lost',
  'unsynced-change-torn',
  /** Creations, renames and removals of names. */
  'unsynced-name-lost',
  /** Flipped and then read by a program. */
  'flipped-bit-read',
  'timer-late-after-pause',
  'io-late-after-pause',
  /** A jump of the wall clock after which a program looked at it. */
  'wall-jump',
  /** A change of a clock's rate to other than 1 after which a program looked at that clock. */
  'clock-rate',
  /** Power failures of a machine whose process was alive. */
  'crash',
  'kill',
  'restart',
] as const;

export type StruckFault = (typeof STRUCK_FAULTS)[number];

export class Struck {
  readonly #counts = new Map<StruckFault, number>(STRUCK_FAULTS.map((fault) => [fault, 0]));

  /** Every fault has its count, 0 for those that never struck. */
  get counts(): ReadonlyMap<StruckFault, number> {
    return this.#counts;
  }

  count(fault: StruckFault, times = 1): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + times);
  }
}
