/** What the threads of a process wait for, as the kernel says it in /proc. */

import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';

import { isStruckByFreeze, parseSystemCall, type SystemCall } from './system-calls.ts';

/** A write that has begun and has changed nothing yet. */
export interface WriteUnderWay {
  readonly path: string;
  readonly position: number;
  readonly bytes: Buffer;
}

/** How many threads wait for the end of a freeze. 0 when the process is gone. */
export function threadsWaitingForThaw(pid: number): number {
  return threadsOf(pid).filter((thread) => waitsForThaw(thread)).length;
}

/** The writes at a position that wait for the end of a freeze: file, place and content, out of the process's own memory. */
export function writesWaitingForThaw(pid: number): WriteUnderWay[] {
  return threadsOf(pid).flatMap((thread) => {
    if (!waitsForThaw(thread)) return [];
    const call = parseSystemCall(read(`${thread}/syscall`), process.arch);
    if (call === undefined) return [];
    try {
      const bytes = contentOf(pid, call);
      return [{ path: readlinkSync(`/proc/${pid}/fd/${call.descriptor}`), position: call.position, bytes }];
    } catch {
      // It went on, or the process ended, between two looks.
      return [];
    }
  });
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    return [];
  }
}

function waitsForThaw(thread: string): boolean {
  return isStruckByFreeze(read(`${thread}/wchan`));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const VECTOR_BYTES = 16;

function contentOf(pid: number, call: SystemCall): Buffer {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    if (!call.vectored) return readMemory(memory, call.address, call.length);
    const vectors = readMemory(memory, call.address, call.length * VECTOR_BYTES);
    return Buffer.concat(
      Array.from({ length: call.length }, (_, n) =>
        readMemory(
          memory,
          vectors.readBigUInt64LE(n * VECTOR_BYTES),
          Number(vectors.readBigUInt64LE(n * VECTOR_BYTES + 8)),
        ),
      ),
    );
  } finally {
    closeSync(memory);
  }
}

function readMemory(memory: number, address: bigint, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const count = readSync(memory, bytes, at, length - at, address + BigInt(at));
    if (count === 0) throw new Error('its memory ends there');
    at += count;
  }
  return bytes;
}
