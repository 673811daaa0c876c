/** Columns for people. */

import { printable, styled } from './text.ts';

/**
 * The table as text, header first; columns as wide as their widest cell. `optional`: headers of columns that are left out where they have
 * nothing to show.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  optional: readonly string[] = [],
): string {
  const shown = header.map((name, column) => !optional.includes(name) || rows.some((row) => row[column] !== ''));
  const all = [header, ...rows.map((row) => row.map(printable))].map((row) => row.filter((_, column) => shown[column]));
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const [heading = '', ...lines] = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [styled('heading', heading), ...lines].map((line) => `${line}\n`).join('');
}

/** "3s", "5m", "2h", "4d": how long ago, by this machine's clock. */
export function formatAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
