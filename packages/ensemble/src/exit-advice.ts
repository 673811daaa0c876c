/** What a server's exit means for whoever started it. The numbers are those of lockd and fenced-kvd. */

import { readFileSync } from 'node:fs';

import { describeExit, type ProcessExit } from './guarded-process.ts';

const meanings: Readonly<Record<number, string>> = {
  2: 'it refused its options',
  64: 'its port is in use; stop what listens there, or choose another --base-port',
  65: 'its data directory is in use; is another ensemble running on it?',
  66: 'its data belongs to another cluster or server; --fresh deletes it',
  67: 'its data is damaged; its log says where',
  68: 'the disk failed or is full',
  69: 'it found its own state broken and stopped; please report it with its log',
  70: 'its data was written by a newer version',
};

const TAIL_LINES = 5;

export function exitAdvice(exit: ProcessExit): string {
  const meaning = exit.code === null ? undefined : meanings[exit.code];
  return meaning === undefined ? describeExit(exit) : `${describeExit(exit)}: ${meaning}`;
}

/** The last lines of a log file, indented; empty when there is none. */
export function logTail(file: string): string {
  try {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES);
    return lines.map((line) => `    ${line}`).join('\n');
  } catch {
    return '';
  }
}
