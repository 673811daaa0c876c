// Recomputes from the raw windows of a file written by `bench --json` every median, ratio and verdict, by code of its own, and compares.
// Usage: node bench/verdict.mjs FILE. Exits 1 when something differs.

import { readFileSync } from 'node:fs';

const say = (line) => process.stdout.write(`${line}\n`);
const complain = (line) => process.stderr.write(`${line}\n`);

const [file] = process.argv.slice(2);
if (file === undefined) {
  complain('usage: node bench/verdict.mjs FILE');
  process.exit(2);
}
const rows = JSON.parse(readFileSync(file, 'utf8'));

const middle = (row) => {
  const sorted = row.windows.map(({ value }) => value).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
const rate = (row) => row.unit.endsWith('/s');
const best = (row, figures) => (figures.length === 0 ? null : rate(row) ? Math.max(...figures) : Math.min(...figures));

/** A peer's figure: that of our generator when it is within 15 % of the peer's own client's, else the better of the two clients. */
function counted(row, system) {
  const of = (route) => rows.find((r) => r.work === row.work && r.system === system && r.route === route);
  const [raw, client, native] = ['raw', 'client', 'native'].map((route) => (of(route) ? middle(of(route)) : null));
  if (raw !== null && native !== null && Math.abs(raw - native) <= 0.15 * native) return raw;
  return best(
    row,
    [raw ?? client, native].filter((figure) => figure !== null),
  );
}

/** What ours is compared with: another row of ours, or the better peer. Files of earlier versions have rows of peers alone. */
function counterpart(row) {
  if (row.comparison === 'own') {
    const other = rows.find((r) => r.work === row.baseline && r.comparison === 'own' && r.unit === row.unit);
    return other === undefined ? null : middle(other);
  }
  const peers = row.targetPeer === null ? ['zookeeper', 'etcd'] : [row.targetPeer];
  return best(
    row,
    peers.map((peer) => counted(row, peer)).filter((figure) => figure !== null),
  );
}

let differences = 0;
const compare = (row, what, written, computed) => {
  const same =
    typeof written === 'number' && typeof computed === 'number'
      ? Math.abs(written - computed) <= 1e-9 * Math.abs(computed)
      : written === computed;
  if (same) return;
  differences += 1;
  complain(`${row.work}, ${row.system} (${row.route}): ${what} is ${written}, computed ${computed}`);
};

for (const row of rows) {
  const own = middle(row);
  compare(row, 'median', row.median, own);
  for (const { value, operations, seconds } of row.windows) {
    if (rate(row)) compare(row, 'a window', value, operations / seconds);
  }
  if (row.system !== 'holdfast') continue;
  const other = counterpart(row);
  const ratio = own === null || own === 0 || other === null || other === 0 ? null : own / other;
  // A row of ours that is compared with none of ours has a target in its own unit.
  const judged = row.comparison === 'own' && row.baseline === null ? own : ratio;
  const met = judged === null || row.target === null ? null : rate(row) ? judged >= row.target : judged <= row.target;
  compare(row, 'ratio', row.ratio, ratio);
  compare(row, 'met', row.met, met);
  const verdict = met === null ? 'no verdict' : met ? 'met' : 'NOT met';
  const figure =
    ratio === null && judged !== null ? `${judged.toFixed(3)} ${row.unit}` : `ratio ${ratio?.toFixed(3) ?? '–'}`;
  if (row.route === 'raw' || met !== null) say(`${row.work}: ${figure}, must ${row.target ?? '–'}: ${verdict}`);
}
say(differences === 0 ? 'every figure agrees with its windows' : `${differences} difference(s)`);
process.exitCode = differences === 0 ? 0 : 1;
