/**
 * Which figure of a peer counts, and what ours is worth beside it. Our generator's figure for a peer counts when it is within 15 % of
 * what the peer's own client reached in the same run; otherwise the better of the two does.
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
  const raw = candidates.find(({ route }) => route !== 'native');
  const native = candidates.find(({ route }) => route === 'native');
  if (raw?.median === undefined || raw.median === null) return native;
  if (native?.median === undefined || native.median === null) return raw;
  if (Math.abs(raw.median / native.median - 1) <= NATIVE_TOLERANCE) return raw;
  return isBetter(native.median, raw.median, raw.unit) ? native : raw;
}

/** The same rows, ours with ratio and verdict. */
export function withVerdicts(rows: readonly ResultRow[]): ResultRow[] {
  return rows.map((row) => {
    if (row.system !== 'holdfast' || row.median === null || row.median === 0) return row;
    const better = betterPeer(rows, row);
    if (better === undefined) return row;
    const ratio = row.median / better;
    const met = row.target === null ? null : higherIsBetter(row.unit) ? ratio >= row.target : ratio <= row.target;
    return { ...row, ratio, met };
  });
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
