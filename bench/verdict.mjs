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

/** A peer's figure: that of our generator when it is within 15 % of the peer's own client's, else the better of the two. */
function counted(row, system) {
  const of = (routes) => rows.find((r) => r.work === row.work && r.system === system && routes.includes(r.route));
  const [ours, native] = [of(['raw', 'client']), of(['native'])].map((r) => (r === undefined ? null : middle(r)));
  if (ours === null || native === null) return ours ?? native;
  return Math.abs(ours - native) <= 0.15 * native ? ours : best(row, [ours, native]);
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
  const peers = row.targetPeer === null ? ['zookeeper', 'etcd'] : [row.targetPeer];
  const better = best(
    row,
    peers.map((peer) => counted(row, peer)).filter((figure) => figure !== null),
  );
  const ratio = own === null || own === 0 || better === null ? null : own / better;
  const met = ratio === null || row.target === null ? null : rate(row) ? ratio >= row.target : ratio <= row.target;
  compare(row, 'ratio', row.ratio, ratio);
  compare(row, 'met', row.met, met);
  const verdict = met === null ? 'no verdict' : met ? 'met' : 'NOT met';
  if (row.route === 'raw') say(`${row.work}: ratio ${ratio?.toFixed(3) ?? '–'}, must ${row.target ?? '–'}: ${verdict}`);
}
say(differences === 0 ? 'every figure agrees with its windows' : `${differences} difference(s)`);
process.exitCode = differences === 0 ? 0 : 1;
