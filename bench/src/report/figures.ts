/** Figures as people read them: three significant digits, thousands separated. */

export function formatFigure(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  if (digits === 0) return Math.round(value).toLocaleString('en');
  return value.toFixed(digits);
}

/** "1,234 (1,200–1,300)": the median and what the windows ranged over. */
export function formatRange(row: {
  readonly median: number | null;
  readonly min: number | null;
  readonly max: number | null;
}): string {
  if (row.median === null || row.min === null || row.max === null) return '–';
  return `${formatFigure(row.median)} (${formatFigure(row.min)}–${formatFigure(row.max)})`;
}

export function formatPercent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
