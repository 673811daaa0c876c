/** The figures of many watches as a table, beside what is asked of a million. */

import type { WatchesResult } from './watches.ts';

interface Bound {
  readonly must: number;
  readonly goal: number;
}

/** A million watches; fewer of them say little, since a server's heap grows by steps. */
const MEMORY_MIB: Bound = { must: 96, goal: 48 };
const REGISTERED_PER_SECOND: Bound = { must: 100_000, goal: 300_000 };

/** Whether each watch has told its change, and told it once. */
export function toldOnce({ changed, events }: WatchesResult): boolean {
  return events === changed;
}

export function watchesTable(watches: number, result: WatchesResult): string[] {
  const { emptyMiB, nodesMiB, watchesMiB, seconds, leaderSeconds, clientSeconds, changed, events } = result;
  const more = watchesMiB - nodesMiB;
  const rate = watches / seconds;
  const count = watches.toLocaleString('en');
  const met = (good: boolean): string => (good ? 'yes' : '**no**');
  return [
    '| what | figure | must | goal | met |',
    '|---|---|---|---|---|',
    `| leader RSS, connections alone, MiB | ${emptyMiB.toFixed(0)} | | | |`,
    `| leader RSS, ${count} nodes of 100 B, MiB | ${nodesMiB.toFixed(0)} | | | |`,
    `| more with a watch on each, MiB | ${more.toFixed(0)} | ${MEMORY_MIB.must} | ${MEMORY_MIB.goal} | ${met(more <= MEMORY_MIB.must)} |`,
    `| registered, watches/s | ${Math.round(rate).toLocaleString('en')} | ${REGISTERED_PER_SECOND.must.toLocaleString('en')} | ${REGISTERED_PER_SECOND.goal.toLocaleString('en')} | ${met(rate >= REGISTERED_PER_SECOND.must)} |`,
    `| processor time of that, leader and clients, s | ${leaderSeconds.toFixed(2)}, ${clientSeconds.toFixed(2)} | | | |`,
    `| events of ${changed.toLocaleString('en')} nodes, changed twice each | ${events.toLocaleString('en')} | ${changed.toLocaleString('en')} | | ${met(toldOnce(result))} |`,
  ];
}
