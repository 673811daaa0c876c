/** What servers wrote: an error that nobody foresaw is the run's failure, however well everything else went. */

import { readFileSync } from 'node:fs';
import { ExitCode } from '@holdfast/lockd';

/** pino's number of the level `error`; `fatal` is above it. */
const ERROR_LEVEL = 50;

/** What faults may make a program say. */
export interface LogFaults {
  readonly diskTrouble: boolean;
  /** Its disk was slow, or hung. @default false */
  readonly diskWaits?: boolean;
  /** Its log was damaged. */
  readonly damaged: boolean;
  /** It was removed, or has lost its disk. @default false */
  readonly leaves?: boolean;
}

export interface LogLine {
  readonly line: number;
  readonly text: string;
}

/** The lines of level error and above, and those that a program prints when it dies of an exception. */
export function unforeseenLines(file: string, faults: LogFaults): LogLine[] {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return content.split('\n').flatMap((text, n) => (isUnforeseen(text, faults) ? { line: n + 1, text } : []));
}

/** What a server says that has cut its log where it was damaged. */
export const ACKNOWLEDGED_LOG_LOST = 'acknowledged log is lost';

/** What a slow disk makes a server say. */
const DISK_HANGS = 'the disk hangs';

/** What a failed or full disk makes a program say. */
const DISK_TROUBLE = /\b(EIO|ENOSPC|EROFS|IO|NO_SPACE)\b|disk|no room/i;

export function isUnforeseen(
  text: string,
  { diskTrouble, diskWaits = false, damaged, leaves = false }: LogFaults,
): boolean {
  if (diskTrouble && DISK_TROUBLE.test(text)) return false;
  if (diskWaits && text.includes(DISK_HANGS)) return false;
  if (damaged && (text.includes(ACKNOWLEDGED_LOG_LOST) || /damage/i.test(text))) return false;
  if (!text.startsWith('{')) return /^(Uncaught|node:|\w*Error\b)|^Node\.js v\d/.test(text);
  try {
    const { level, exitCode } = JSON.parse(text) as { readonly level?: unknown; readonly exitCode?: unknown };
    if (leaves && (exitCode === ExitCode.removed || exitCode === ExitCode.lostDisk)) return false;
    return typeof level === 'number' && level >= ERROR_LEVEL;
  } catch {
    // A kill may cut the last line of a process short, and the next one begins behind it.
    return false;
  }
}
