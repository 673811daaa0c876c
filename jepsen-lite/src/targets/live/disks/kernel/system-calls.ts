/** What /proc/PID/task/TID/syscall and wchan say of a thread that writes to a file. */

/** A write at a position that a thread is in. */
export interface SystemCall {
  readonly descriptor: number;
  readonly address: bigint;
  /** In bytes, or, where it is vectored, in buffers whose places are at `address`. */
  readonly length: number;
  readonly position: number;
  readonly vectored: boolean;
}

/** The numbers of pwrite64, pwritev and pwritev2 differ between processors. */
const WRITES: Readonly<Record<string, Readonly<Record<number, { readonly vectored: boolean }>>>> = {
  x64: { 18: { vectored: false }, 296: { vectored: true }, 328: { vectored: true } },
  arm64: { 68: { vectored: false }, 70: { vectored: true }, 287: { vectored: true } },
};

/** Undefined for anything but a write at a position, and on processors whose numbers are not known here. */
export function parseSystemCall(line: string, architecture: string): SystemCall | undefined {
  const [number = '', descriptor, address, length, position] = line.trim().split(' ');
  const write = WRITES[architecture]?.[Number(number)];
  if (write === undefined || position === undefined) return undefined;
  return {
    descriptor: Number(descriptor),
    address: BigInt(address ?? 0),
    length: Number(length),
    position: Number(position),
    vectored: write.vectored,
  };
}

/** A file system lets writers in through a per-processor lock, which a freeze holds. */
export function isStruckByFreeze(waitChannel: string): boolean {
  return waitChannel.includes('percpu_rwsem') || waitChannel.includes('percpu_down_read');
}
