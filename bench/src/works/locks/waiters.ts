/** One lock from hand to hand, with few and with very many who wait for it. */

import { timeHandOvers } from '../../own/waiters.ts';
import { resultRow, type RawWindow } from '../../report/result-row.ts';
import type { BenchRun } from '../bench-run.ts';
import { singleWindow } from '../single-window.ts';
import { Stage } from '../stage.ts';
import { FEW_WAITERS, waitersRows } from '../own-table.ts';

export async function measureWaiters(run: BenchRun): Promise<void> {
  const { many, handOvers, rounds } = run.effort.waiters;
  const candidates = run.systems.filter(({ name }) => name === 'holdfast');
  const stage = await Stage.start(run.stageDirectory('waiters'), candidates);
  try {
    const system = stage.systems.get('holdfast');
    if (system === undefined) return;
    await timeHandOvers(system.addresses, FEW_WAITERS, Math.max(1, Math.floor(handOvers / 4)));
    const turns = waitersRows(many).map((row) => ({ ...row, windows: [] as RawWindow[] }));
    for (let round = 1; round <= rounds; round += 1) {
      for (const { work, waiters, target, windows } of turns) {
        const measure = async (): Promise<{ value: number; operations: number }> => {
          const tookMs = await timeHandOvers(system.addresses, waiters, handOvers);
          return { value: (1_000 * tookMs) / handOvers, operations: handOvers };
        };
        const { window } = await run.repeats.quietest(() => singleWindow(system, undefined, measure));
        windows.push(window);
        const own = target === undefined ? {} : { target };
        run.results.put(resultRow({ work, system: 'holdfast', route: 'client', unit: 'µs', windows, own }));
        run.say(`${work}: round ${round} of ${rounds}: ${Math.round(window.value)} µs`);
      }
    }
  } finally {
    await stage.clear();
  }
}
