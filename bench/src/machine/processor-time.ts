/** Processor time of processes and of the whole machine, from /proc: Linux only, like the peers' packages. */

import { readFileSync, readdirSync } from 'node:fs';

/** The unit of utime and stime in /proc/PID/stat, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Threads of the kernel are children of this one; what they do for the disk and network, they do for who asked for it. */
const KERNEL_PARENT = 2;

const MAX_OTHER_CORES = 0.06;
/** What the counters cannot tell from nothing. */
const RESOLUTION_SECONDS = 2 / TICKS_PER_SECOND;

/** Whether other processes took more of one core than may be. */
export function isDisturbed(otherSeconds: number, seconds: number): boolean {
  return otherSeconds > MAX_OTHER_CORES * seconds + RESOLUTION_SECONDS;
}

interface ProcessTime {
  readonly pid: number;
  readonly parent: number;
  /** User and system seconds so far. */
  readonly seconds: number;
  readonly userSeconds: number;
}

/** Undefined when there is no such process. */
function processTime(pid: number): ProcessTime | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold anything; behind it the second field is the parent, utime and stime the 12th and 13th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const userSeconds = Number(fields[11]) / TICKS_PER_SECOND;
    return {
      pid,
      parent: Number(fields[1]),
      seconds: userSeconds + Number(fields[12]) / TICKS_PER_SECOND,
      userSeconds,
    };
  } catch {
    return undefined;
  }
}

/** Seconds of all of them together. */
export function secondsOf(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + (processTime(pid)?.seconds ?? 0), 0);
}

/** A process and those that it has started, as a server that has one for each connection. */
export function familyOf(pid: number): number[] {
  const children = [...machineTime().processes.values()].filter(({ parent }) => parent === pid);
  return [pid, ...children.map((child) => child.pid)];
}

export interface MachineTime {
  /** Seconds in user mode by anybody, on all cores together. */
  readonly user: number;
  /** Seconds that the hypervisor gave to other machines. */
  readonly stolen: number;
  readonly processes: ReadonlyMap<number, ProcessTime>;
}

export function machineTime(): MachineTime {
  const [, user = 0, nice = 0, , , , , , stolen = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? [];
  const processes = new Map<number, ProcessTime>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const time = processTime(Number(name));
    if (time !== undefined && time.pid !== KERNEL_PARENT && time.parent !== KERNEL_PARENT)
      processes.set(time.pid, time);
  }
  return { user: (user + nice) / TICKS_PER_SECOND, stolen: stolen / TICKS_PER_SECOND, processes };
}

/**
 * Seconds between two looks that went to processes other than `own`: those that lived through it, by their own account; those that
 * came and went meanwhile, by what the machine spent in user mode beyond everybody known.
 */
export function secondsOfOthers(before: MachineTime, after: MachineTime, own: ReadonlySet<number>): number {
  let others = 0;
  let known = 0;
  for (const [pid, { seconds, userSeconds }] of after.processes) {
    const earlier = before.processes.get(pid);
    known += userSeconds - (earlier?.userSeconds ?? 0);
    if (!own.has(pid)) others += seconds - (earlier?.seconds ?? 0);
  }
  const unknown = Math.max(0, after.user - before.user - known);
  return others + unknown + (after.stolen - before.stolen);
}
