/**
 * Which figure of a peer counts, and what ours is worth beside it. Our generator's figure for a peer counts when it is within 15 % of
 * what the peer's own client reached in the same run; otherwise the better of the two does. Of two client libraries the better counts.
 */

import type { SystemName } from '../generator/systems.ts';
import type { ResultRow } from './result-row.ts';

const NATIVE_TOLERANCE = 0.15;
const RIVALS: readonly SystemName[] = ['zookeeper', 'etcd'];

/** Rates grow when they get better; times and sizes shrink. */
function higherIsBetter(unit: string): boolean {
  return unit.endsWith('/s');
}

/** Undefined when there is no figure. */
export function countedRow(rows: readonly ResultRow[], work: string, system: SystemName): ResultRow | undefined {
  const candidates = rows.filter((row) => row.work === work && row.system === system && row.median !== null);
  const other = candidates.find(({ route }) => route !== 'native');
  const native = candidates.find(({ route }) => route === 'native');
  if (other?.median === undefined || other.median === null) return native;
  if (native?.median === undefined || native.median === null) return other;
  const near = Math.abs(other.median / native.median - 1) <= NATIVE_TOLERANCE;
  if (other.route === 'raw' && near) return other;
  return isBetter(native.median, other.median, other.unit) ? native : other;
}

/** The same rows, ours with ratio and verdict. */
export function withVerdicts(rows: readonly ResultRow[]): ResultRow[] {
  return rows.map((row) => {
    if (row.system !== 'holdfast' || row.median === null || row.median === 0) return row;
    if (row.comparison === 'own' && row.baseline === null) return { ...row, met: reaches(row, row.median) };
    const other = row.baseline === null ? betterPeer(rows, row) : baselineOf(rows, row);
    if (other === undefined || other === 0) return row;
    const ratio = row.median / other;
    return { ...row, ratio, met: reaches(row, ratio) };
  });
}

/** Null where nothing is asked. */
function reaches({ target, unit }: ResultRow, value: number): boolean | null {
  if (target === null) return null;
  return higherIsBetter(unit) ? value >= target : value <= target;
}

function baselineOf(rows: readonly ResultRow[], { baseline, unit }: ResultRow): number | undefined {
  const found = rows.find((row) => row.work === baseline && row.comparison === 'own' && row.unit === unit);
  return found?.median ?? undefined;
}

function betterPeer(rows: readonly ResultRow[], row: ResultRow): number | undefined {
  const peers = row.targetPeer === null ? RIVALS : [row.targetPeer];
  let better: number | undefined;
  for (const peer of peers) {
    const figure = countedRow(rows, row.work, peer)?.median;
    if (typeof figure !== 'number') continue;
    if (better === undefined || isBetter(figure, better, row.unit)) better = figure;
  }
  return better;
}

function isBetter(a: number, b: number, unit: string): boolean {
  return higherIsBetter(unit) ? a > b : a < b;
}
