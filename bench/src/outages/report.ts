/** The distribution over clients of the longest time without service, for each fault and system, as Markdown. */

import { writeFileSync } from 'node:fs';

import { describeMachine } from '../machine/description.ts';
import type { BenchOptions } from '../options.ts';
import { percentile } from '../statistics.ts';
import { candidates, type Candidate } from './candidates.ts';
import { FAULTS } from './faults.ts';
import { measureOutages, type OutageResults } from './outages.ts';

export async function reportOutages(
  chosen: BenchOptions,
  directory: string,
  say: (line: string) => void,
): Promise<void> {
  const found = candidates(chosen.against, say);
  const rounds = chosen.quick ? 1 : chosen.rounds;
  const results = await measureOutages(found, { clients: chosen.clients, rounds, directory, say });
  const text = outageTables(found, results, { clients: chosen.clients, rounds });
  process.stdout.write(`\nMeasured on ${describeMachine(directory)}.\n\n${text}`);
  if (chosen.outages !== undefined) writeFileSync(chosen.outages, `${outageLines(results)}\n`);
}

/** A line of JSON for each strike. */
function outageLines({ strikes }: OutageResults): string {
  return `[\n${strikes.map((strike) => JSON.stringify(strike)).join(',\n')}\n]`;
}

export function outageTables(
  systems: readonly Candidate[],
  { strikes, withoutHosts }: OutageResults,
  { clients, rounds }: { readonly clients: number; readonly rounds: number },
): string {
  const settings = systems.map(({ label, system, sessionTimeoutMs, patience }) => [
    label,
    system.version,
    `${sessionTimeoutMs / 1_000} s`,
    patience,
  ]);
  const rows = FAULTS.flatMap(({ name }) =>
    systems.flatMap(({ label }) => {
      const struck = strikes.filter((strike) => strike.fault === name && strike.label === label);
      if (struck.length === 0) return [];
      const ms = struck.flatMap(({ longestMs }) => longestMs);
      const figures = [0.5, 0.9, 0.99, 1].map((share) => Math.round(percentile(ms, share)).toLocaleString('en'));
      const lost = struck.reduce((sum, { sessionsLost }) => sum + sessionsLost, 0);
      return [[name, label, ...figures, `${lost}`]];
    }),
  );
  const disturbed = strikes.filter((strike) => strike.disturbed).length;
  const notes = [
    ...(withoutHosts === undefined ? [] : [`Nobody was cut off, since ${withoutHosts}.`]),
    ...(disturbed === 0
      ? []
      : [`Beside ${disturbed} of ${strikes.length} strikes other processes took more than 6 % of a core.`]),
  ];
  return [
    table(['system', 'version', 'session timeout', 'silence that is borne'], settings),
    `Longest time without service, ms, over ${clients} clients and ${rounds} ${rounds === 1 ? 'strike' : 'strikes'} of each fault:`,
    table(['fault', 'system', 'median', 'p90', 'p99', 'max', 'sessions lost'], rows),
    ...notes,
  ]
    .map((part) => `${part}\n`)
    .join('\n');
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n');
}
