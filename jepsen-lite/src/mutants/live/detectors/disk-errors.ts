/** What the kernel says of a disk is what the runtime says: an error is an error, a full disk is full, and others may not look. */

import { statSync } from 'node:fs';
import { join } from 'node:path';

import type { Failure } from '../../attempt.ts';
import type { LiveDetector } from '../live-mutant.ts';
import { Program } from '../program.ts';

const BYTES = 8_192;
/** What is left of a disk that is full, at most. */
const FULL_BYTES = 65_536;
const OTHERS = 0o077;

export const diskErrors: LiveDetector = async ({ planted, volumes }) => {
  const volume = await volumes.create('disk-errors');
  const program = new Program(planted, ['@holdfast/jepsen-lite', 'mutants/live/programs/disk-program.js'], []);
  const broken = (message: string): Failure => ({ kind: 'promise', name: 'disk-errors', message });
  const file = join(volume.path, 'f');
  try {
    await program.ask(['make-directory', volume.path]);
    await program.ask(['append', file, BYTES]);
    if ((statSync(file).mode & OTHERS) !== 0) return broken('other users may look into a file');
    await volume.failNext('append', program.pid);
    if ((await program.ask(['append', file, BYTES])) !== 'error IO')
      return broken('a write that failed was called done');
    await volume.failNext('sync', program.pid);
    if ((await program.ask(['sync', file])) !== 'error IO') return broken('a sync that failed was called done');
    await volume.fill();
    const free = await program.ask(['free-bytes', volume.path]);
    const [, bytes = ''] = free.split(' ');
    if (bytes === '' || Number(bytes) > FULL_BYTES) return broken(`a full disk was called free: ${free}`);
    const more = await program.ask(['append', join(volume.path, 'g'), BYTES]);
    return more === 'error NO_SPACE' ? undefined : broken(`a write to a full disk was answered ${more}`);
  } finally {
    await program.kill();
    await volume.close();
  }
};
