/** A bar chart as SVG: one group a work, one bar a system, a whisker for the range of the windows. Readable on light and dark pages. */

import type { SystemName } from '../generator/systems.ts';
import { formatFigure } from './figures.ts';

interface Bar {
  readonly system: SystemName;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface BarGroup {
  readonly label: string;
  readonly bars: readonly Bar[];
}

const COLOURS: Readonly<Record<SystemName, string>> = {
  holdfast: '#2563eb',
  zookeeper: '#d97706',
  etcd: '#0d9488',
  redis: '#9f1239',
};

const WIDTH = 860;
const LEFT = 20;
const BAR_AREA = 560;
const LABEL_WIDTH = 92;
const BAR_HEIGHT = 16;
const GAP = 4;
const GROUP_HEAD = 24;
const GROUP_GAP = 14;
const TITLE_HEIGHT = 42;
const INK = '#6b7280';

/** Bars of each group share a scale of their own, since works differ by orders of magnitude. */
export function barChart(title: string, unit: string, groups: readonly BarGroup[]): string {
  let top = TITLE_HEIGHT;
  const parts: string[] = [text(LEFT, 24, `${title} (${unit})`, 'font-size="16" font-weight="600"')];
  for (const { label, bars } of groups) {
    parts.push(text(LEFT, top + 15, label, 'font-size="13"'));
    top += GROUP_HEAD;
    const scale = BAR_AREA / Math.max(...bars.map(({ max }) => max), Number.MIN_VALUE);
    for (const bar of bars) {
      parts.push(barAt(top, bar, scale));
      top += BAR_HEIGHT + GAP;
    }
    top += GROUP_GAP;
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" role="img" aria-label="${escape(title)}" ` +
    `font-family="system-ui, sans-serif" fill="${INK}">\n${parts.join('\n')}\n</svg>\n`
  );
}

function barAt(top: number, { system, median, min, max }: Bar, scale: number): string {
  const left = LEFT + LABEL_WIDTH;
  const middle = top + BAR_HEIGHT / 2;
  const x = (value: number): string => (left + value * scale).toFixed(1);
  return [
    text(LEFT + 8, top + 12, system, 'font-size="12"'),
    `<rect x="${left}" y="${top}" width="${(median * scale).toFixed(1)}" height="${BAR_HEIGHT}" rx="2" fill="${COLOURS[system]}"/>`,
    `<path d="M${x(min)} ${middle}H${x(max)}" stroke="${INK}" stroke-width="2"/>`,
    text(left + max * scale + 8, top + 12, formatFigure(median), 'font-size="12"'),
  ].join('\n');
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
