/** `kill -9` of the winner of an election to the next term, without the timeout of the winner's session. */

import { join } from 'node:path';

import { Campaigns } from '../../own/elections/campaigns.ts';
import { resultRow, type RawWindow } from '../../report/result-row.ts';
import type { BenchRun } from '../bench-run.ts';
import { singleWindow } from '../single-window.ts';
import { Stage } from '../stage.ts';
import { ELECTIONS_ROW } from '../own-table.ts';

export async function measureElections(run: BenchRun): Promise<void> {
  const { work, unit, target } = ELECTIONS_ROW;
  const candidates = run.systems.filter(({ name }) => name === 'holdfast');
  const directory = run.stageDirectory('elections');
  const stage = await Stage.start(directory, candidates);
  try {
    const system = stage.systems.get('holdfast');
    if (system === undefined) return;
    const logFiles = system.addresses.map((_, n) => join(directory, 'holdfast', `server-${n + 1}.log`));
    const campaigns = await Campaigns.start(system.addresses, logFiles);
    try {
      const strike = async (): Promise<{ readonly window: RawWindow; readonly sinceKillMs: number }> => {
        await campaigns.fill();
        const { window, measured } = await singleWindow(
          system,
          undefined,
          async () => {
            const { changeMs, sinceKillMs } = await campaigns.change();
            return { value: changeMs, operations: 1, sinceKillMs };
          },
          campaigns.pids(),
        );
        return { window, sinceKillMs: measured.sinceKillMs };
      };
      // The first one finds servers that have not expired a session yet.
      await strike();
      const windows: RawWindow[] = [];
      for (let trial = 1; trial <= run.effort.killTrials; trial += 1) {
        const { window, sinceKillMs } = await run.repeats.quietest(strike);
        windows.push(window);
        run.results.put(resultRow({ work, unit, system: 'holdfast', route: 'client', windows, own: { target } }));
        const after = `${window.value} ms after the session's end, ${sinceKillMs} ms after the kill`;
        run.say(`${work}: trial ${trial} of ${run.effort.killTrials}: ${after}`);
      }
    } finally {
      await campaigns.end();
    }
  } finally {
    await stage.clear();
  }
}
