/** What a process holds: memory and file descriptors, as the kernel counts them. */

import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly residentBytes: number;
  readonly descriptors: number;
}

/**
 * How much more a server may hold after a run than before its load. A young V8 heap grows to its working size under load and stays there,
 * with the buffers of the log: a leak of a run's sessions, waits or connections is larger.
 */
const MAX_MORE: Usage = { residentBytes: 192 * 1024 * 1024, descriptors: 32 };

/** Undefined where the system does not tell. */
export function usageOf(pid: number | undefined): Usage | undefined {
  if (pid === undefined || process.platform !== 'linux') return undefined;
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    if (kilobytes === undefined) return undefined;
    return { residentBytes: Number(kilobytes) * 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}

/** What is too much, in words; undefined when nothing is. */
export function excess(before: Usage, after: Usage): string | undefined {
  const bytes = after.residentBytes - before.residentBytes;
  if (bytes > MAX_MORE.residentBytes) {
    return `holds ${mebibytes(after.residentBytes)} MiB, ${mebibytes(bytes)} more than before the load`;
  }
  const descriptors = after.descriptors - before.descriptors;
  if (descriptors <= MAX_MORE.descriptors) return undefined;
  return `has ${after.descriptors} descriptors open, ${descriptors} more than before the load`;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
