/** Whether leadership stays where it is while other work keeps every core busy: no term may begin in the whole time. */

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

import { withScratchEnsemble } from './scratch-ensemble.ts';

export interface QuietResult {
  readonly seconds: number;
  readonly busyProcesses: number;
  readonly termBefore: number;
  readonly termAfter: number;
}

export async function measureQuiet(
  seconds: number,
  progress: (second: number, term: number) => void,
): Promise<QuietResult> {
  return await withScratchEnsemble(async (ensemble) => {
    const term = async (): Promise<number> => {
      const statuses = await Promise.all(ensemble.servers.map((id) => ensemble.status(id)));
      return Math.max(...statuses.map((status) => status?.term ?? 0));
    };
    await ensemble.waitForLeader();
    const termBefore = await term();
    const busyProcesses = availableParallelism();
    const busy = Array.from({ length: busyProcesses }, () =>
      // Ends by itself when this process does: its standard input closes.
      spawn(
        process.execPath,
        [
          '-e',
          'process.stdin.on("end",()=>process.exit()).resume();(function f(){const t=Date.now();while(Date.now()-t<50);setImmediate(f)})()',
        ],
        {
          stdio: ['pipe', 'ignore', 'ignore'],
        },
      ),
    );
    try {
      for (let second = 10; second <= seconds; second += 10) {
        await new Promise((resolve) => setTimeout(resolve, 10_000));
        progress(second, await term());
      }
      return { seconds, busyProcesses, termBefore, termAfter: await term() };
    } finally {
      for (const child of busy) child.kill('SIGKILL');
    }
  });
}
