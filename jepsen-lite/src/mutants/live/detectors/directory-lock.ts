/** One process at a time has a directory: as long as it lives, stopped or not, and no longer. */

import type { Failure } from '../../attempt.ts';
import type { LiveDetector } from '../live-mutant.ts';
import { Program } from '../program.ts';

export const directoryLock: LiveDetector = async ({ planted, directory }) => {
  const programs: Program[] = [];
  const start = (): Program => {
    const program = new Program(planted, ['@holdfast/jepsen-lite', 'mutants/live/programs/disk-program.js'], []);
    programs.push(program);
    return program;
  };
  const broken = (message: string): Failure => ({ kind: 'promise', name: 'directory-lock', message });
  try {
    const [first, second] = [start(), start()];
    const took = await first.ask(['lock', directory]);
    if (took !== 'ok') return broken(`a directory that nobody has was answered ${took}`);
    const beside = await second.ask(['lock', directory]);
    if (beside !== 'error LOCKED') return broken(`a second taker was answered ${beside}`);
    first.signal('SIGSTOP');
    const besideStopped = await second.ask(['lock', directory]);
    if (besideStopped !== 'error LOCKED')
      return broken(`a taker beside one that is stopped was answered ${besideStopped}`);
    await first.kill();
    const after = await second.ask(['lock', directory]);
    return after === 'ok' ? undefined : broken(`a taker after one that was killed was answered ${after}`);
  } finally {
    for (const program of programs) await program.kill();
  }
};
