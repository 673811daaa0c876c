/** Each operation of the disk that promises durability: the power fails as soon as it has ended, and what it did must be there. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Failure } from '../../attempt.ts';
import type { Volume } from '../../../targets/live/disks/volume.ts';
import type { LiveAttempt, LiveDetector } from '../live-mutant.ts';
import { Program } from '../program.ts';

const BYTES = 8_192;

type Command = readonly [operation: string, path: string, other?: string | number];

interface Promised {
  readonly name: string;
  /** Below a directory of its own; the last one promises. */
  commands(directory: string): readonly Command[];
  isThere(directory: string): boolean;
}

const PROMISES: readonly Promised[] = [
  {
    name: 'an append is durable when it ends',
    commands: (directory) => [
      ['zeros', join(directory, 'a'), BYTES],
      ['append', join(directory, 'a'), BYTES],
    ],
    isThere: (directory) => isFilled(join(directory, 'a')),
  },
  {
    name: 'a write is durable when a sync behind it ends',
    commands: (directory) => [
      ['zeros', join(directory, 'b'), BYTES],
      ['write', join(directory, 'b'), BYTES],
      ['sync', join(directory, 'b')],
    ],
    isThere: (directory) => isFilled(join(directory, 'b')),
  },
  {
    name: 'a new name is durable when its directory is synced',
    commands: (directory) => [
      ['append', join(directory, 'c'), BYTES],
      ['rename', join(directory, 'c'), join(directory, 'renamed')],
      ['sync-directory', directory],
    ],
    isThere: (directory) => isFilled(join(directory, 'renamed')),
  },
  {
    name: 'a directory is durable with its parents when it is made',
    commands: (directory) => [['make-directory', join(directory, 'd', 'e')]],
    isThere: (directory) => existsSync(join(directory, 'd', 'e')),
  },
];

export const durability: LiveDetector = async (attempt) => {
  const volume = await attempt.volumes.create('durability');
  try {
    for (const promised of PROMISES) {
      const failure = await holds(attempt, volume, promised);
      if (failure !== undefined) return failure;
    }
    return undefined;
  } finally {
    await volume.close();
  }
};

async function holds({ planted }: LiveAttempt, volume: Volume, promised: Promised): Promise<Failure | undefined> {
  const directory = volume.path;
  const program = new Program(planted, ['@holdfast/jepsen-lite', 'mutants/live/programs/disk-program.js'], []);
  const answers: string[] = [];
  const commands: readonly Command[] = [['make-directory', directory], ...promised.commands(directory)];
  try {
    for (const command of commands) answers.push(await program.ask(command.filter((part) => part !== undefined)));
    await volume.powerLoss('none', program.pid);
  } finally {
    await program.kill();
  }
  await volume.remount();
  if (answers.some((answer) => answer !== 'ok')) throw new Error(`the disk answered ${answers.join(', ')}`);
  if (promised.isThere(directory)) return undefined;
  return { kind: 'promise', name: 'durability', message: `${promised.name}; after a power failure it is not there` };
}

function isFilled(path: string): boolean {
  return existsSync(path) && readFileSync(path).equals(Buffer.alloc(BYTES, 7));
}
