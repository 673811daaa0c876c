/**
 * What a harness that was killed has left behind: its directory names the process, so that the next one can tell that it is dead, and
 * unmount and delete what was its own. A process number that is in use again is told by when that process began.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { run } from './tools.ts';

const DIRECTORY = /^holdfast-volumes-(\d+)-(\d+)-/;
/** Of /proc/PID/stat: the fields behind the name, which may itself hold spaces, begin with the third; this is the 22nd. */
const STARTED_FIELD = 22 - 3;

/** A new directory below `parent` that is known as this process's. */
export function makeOwnDirectory(parent: string): string {
  return mkdtempSync(join(parent, `holdfast-volumes-${process.pid}-${startedAt(process.pid) ?? 0}-`));
}

/** Unmounts and deletes what dead processes have left below `parent`. Returns the directories. */
export async function clearLeftovers(parent: string): Promise<string[]> {
  const left = readdirSync(parent).filter((name) => isLeft(name));
  const directories = left.map((name) => join(parent, name));
  for (const directory of directories) await clearAway(directory);
  return directories;
}

/** Whatever is mounted there, or hangs. */
export async function clearAway(directory: string): Promise<void> {
  for (const mount of mountsBelow(directory)) {
    // Its guard has thawed it; if that was killed, too, nothing else has.
    await run('fsfreeze', ['-u', mount]).catch(() => undefined);
    await run('umount', ['-l', mount]).catch(() => undefined);
  }
  for (const device of await devicesOf(directory)) await run('losetup', ['--detach', device]).catch(() => undefined);
  rmSync(directory, { recursive: true, force: true });
}

/** What a harness that stands still cannot thaw by itself. */
export async function thawAllOf(pid: number, parent: string): Promise<void> {
  const own = readdirSync(parent).filter((name) => DIRECTORY.exec(name)?.[1] === `${pid}`);
  const mounts = own.flatMap((name) => mountsBelow(join(parent, name)));
  for (const mount of mounts) await run('fsfreeze', ['-u', mount]).catch(() => undefined);
}

function isLeft(name: string): boolean {
  const [, pid, started] = DIRECTORY.exec(name) ?? [];
  return pid !== undefined && startedAt(Number(pid)) !== started;
}

/** The loop devices of images there. */
async function devicesOf(directory: string): Promise<string[]> {
  const devices = await run('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE']).catch(() => '');
  return devices
    .split('\n')
    .map((line) => line.trim().split(/\s+/, 2))
    .filter(([, image]) => image?.startsWith(`${directory}/`) === true)
    .map(([device = '']) => device);
}

/** The deepest first. */
function mountsBelow(directory: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts
    .map((line) => line.split(' ')[1] ?? '')
    .filter((mount) => mount.startsWith(`${directory}/`))
    .toReversed();
}

/** In ticks since the machine began; undefined for a process that is not there, and where there is no /proc. */
function startedAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[STARTED_FIELD];
  } catch {
    return undefined;
  }
}
