/** What a process has in memory now. */

import { readFileSync } from 'node:fs';

export function residentMiB(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1_024;
}
