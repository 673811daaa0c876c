/** What explorations found, as a table. */

import type { Exploration } from './explore.ts';

const HEADINGS = [
  'bounds',
  'planted',
  'result',
  'worlds',
  'transitions',
  'depth',
  'servers',
  'core steps',
  's',
  'worlds/s',
];
/** Before these everything is a number. */
const WORDS = 3;

export function renderExplorations(explorations: readonly Exploration[]): string {
  const rows = [HEADINGS, ...explorations.map(cells)];
  const shown = HEADINGS.map((_, column) => rows.slice(1).some((row) => row[column] !== ''));
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column < WORDS ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .filter((_, column) => shown[column])
      .join('  ')
      .trimEnd();
  return rows.map((row) => line(row)).join('\n');
}

function cells(exploration: Exploration): string[] {
  const { bounds, mutant, complete, broken, states, transitions, depth, servers, coreSteps, wallMs } = exploration;
  const result = broken === undefined ? (complete ? 'complete' : 'cut off') : broken.law;
  const numbers = [states, transitions, depth, servers, coreSteps].map((number) => number.toLocaleString('en'));
  const speed = Math.round(states / (wallMs / 1_000)).toLocaleString('en');
  return [bounds.name, mutant?.name ?? '', result, ...numbers, (wallMs / 1_000).toFixed(1), speed];
}
