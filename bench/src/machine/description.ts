/** The machine in one line, for reports: figures without it mean nothing. */

import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';

export function describeMachine(directory: string): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${availableParallelism()} cores of ${model}, ${memory} GiB, ${distribution()}, Linux ${release()}, ${fileSystem(directory)}`;
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'an unknown distribution';
  } catch {
    return 'an unknown distribution';
  }
}

/** Of the longest mount point above the directory. */
function fileSystem(directory: string): string {
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, point = '']) => point === '/' || directory === point || directory.startsWith(`${point}/`))
    .toSorted(([, a = ''], [, b = '']) => b.length - a.length);
  return mounts[0]?.[2] ?? 'unknown file system';
}
