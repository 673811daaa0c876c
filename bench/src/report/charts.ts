/** Which charts there are: one for all works of a unit. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SYSTEMS } from '../generator/systems.ts';
import { barChart, type BarGroup } from './bar-chart.ts';
import type { ResultRow } from './result-row.ts';
import { countedRow } from './verdicts.ts';

/** The files that were written. */
export function writeCharts(directory: string, rows: readonly ResultRow[]): string[] {
  mkdirSync(directory, { recursive: true });
  const files: string[] = [];
  const compared = rows.filter(({ comparison }) => comparison === 'peers');
  for (const unit of new Set(compared.map((row) => row.unit))) {
    const works = [...new Set(compared.filter((row) => row.unit === unit).map(({ work }) => work))];
    const groups = works.map((work) => groupOf(rows, work)).filter(({ bars }) => bars.length > 0);
    if (groups.length === 0) continue;
    const file = join(directory, `${unit.replaceAll(/[^A-Za-z-]+/g, '-').toLowerCase()}.svg`);
    writeFileSync(file, barChart(unit.endsWith('/s') ? 'More is better' : 'Less is better', unit, groups));
    files.push(file);
  }
  return files;
}

function groupOf(rows: readonly ResultRow[], work: string): BarGroup {
  const bars = SYSTEMS.flatMap((system) => {
    const row = countedRow(rows, work, system);
    if (row === undefined || row.median === null || row.min === null || row.max === null) return [];
    return [{ system, median: row.median, min: row.min, max: row.max }];
  });
  return { label: work, bars };
}
