/** `bench --count`: what a cycle costs in system calls, durable writes, bytes and allocations, against the baseline. Never in time. */

import { join } from 'node:path';

import { formatFigure } from '../report/figures.ts';
import { compare, readBaseline, writeBaseline, type Comparison, type Counted } from './baseline.ts';
import { cycleCosts, idleCosts, medianCosts, type RoleCosts } from './costs.ts';
import { CountedEnsemble } from './counted-ensemble.ts';
import { bursts, oneSession, type CountedLoad } from './counted-load.ts';
import { tracingProblem } from './system-calls.ts';

const ONE_SESSION_CYCLES = 300;
const BURST_ROUNDS = 25;
const IDLE_MS = 5_000;
/** Of which the median is kept: a follower may be behind for once and write two batches as one. */
const ONE_SESSION_COUNTS = 3;
/** More, since whether a burst comes apart on its way is chance; and short ones, so that few of them fill a segment of the log. */
const BURST_COUNTS = 11;
/** Until the compilers are done with the paths that are counted: optimized code allocates less. */
const WARM_UP_ROUNDS = 150;

export async function countCosts(directory: string, say: (line: string) => void): Promise<Counted> {
  const problem = tracingProblem();
  if (problem !== undefined) throw new Error(problem);
  const ensemble = await CountedEnsemble.start(join(directory, 'counted'));
  try {
    const servers = await ensemble.servers();
    const [leader] = servers;
    if (leader === undefined) throw new Error('there is no server to count');
    const plans: { readonly load: CountedLoad; readonly times: number }[] = [
      { load: await oneSession(leader, ONE_SESSION_CYCLES), times: ONE_SESSION_COUNTS },
      { load: await bursts(leader, BURST_ROUNDS, WARM_UP_ROUNDS), times: BURST_COUNTS },
    ];
    say('warming up');
    for (const { load } of plans) await load.warmUp();
    const idle = await idleCosts(ensemble, servers, IDLE_MS);
    const counted: Record<string, RoleCosts> = {};
    for (const { load, times } of plans) {
      const counts: RoleCosts[] = [];
      for (let count = 1; count <= times; count += 1) {
        say(`counting ${load.cycles} cycles, ${load.name}, ${count} of ${times}`);
        counts.push(await cycleCosts(ensemble, servers, idle, load));
      }
      counted[load.name] = medianCosts(counts);
    }
    for (const { load } of plans) await load.close();
    return counted;
  } finally {
    await ensemble.stop();
  }
}

/** False when a cost grew. */
export function reportCosts(counted: Counted, keep: boolean, print: (line: string) => void): boolean {
  if (keep) writeBaseline(counted);
  const comparisons = compare(readBaseline(), counted);
  print('| load | server | cost of a cycle | baseline | counted | |');
  print('| --- | --- | --- | --- | --- | --- |');
  for (const comparison of comparisons) print(rowOf(comparison));
  const grown = comparisons.filter(({ verdict }) => verdict === 'grew');
  if (grown.length > 0) {
    print(
      '\nA cost grew by more than 20 %. Find the commit that did it; if it is worth its price, say so in it and keep',
    );
    print('the new counts: npx -y pnpm@12 bench --count --write-baseline');
  } else if (comparisons.some(({ verdict }) => verdict === 'fell')) {
    print('\nA cost fell by more than 20 %. Keep that: npx -y pnpm@12 bench --count --write-baseline');
  }
  return grown.length === 0;
}

function rowOf({ load, role, cost, baseline, counted, verdict }: Comparison): string {
  const change = verdict === 'same' ? '' : verdict === 'grew' ? '**grew**' : 'fell';
  return `| ${[load, role, cost, formatFigure(baseline), formatFigure(counted), change].join(' | ')} |`;
}
