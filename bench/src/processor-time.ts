/** Processor time of processes, from /proc; undefined where there is none. */

import { readFileSync } from 'node:fs';

/** The unit of utime and stime in /proc/PID/stat, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** User and system seconds that the process has used so far. */
export function processorSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th field behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
