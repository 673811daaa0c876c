/** The results of `fences` as Markdown: a line for each pair of ways, and how the group of replicas fails over. */

import { formatFigure, formatRange } from '../report/figures.ts';
import type { ResultRow } from '../report/result-row.ts';
import { clientsText, FAIL_OVER_ROWS, isFencesRow, pairRows, PAIR_PLANS, tripRows, type PairPlan } from './plans.ts';

type MakeTable = (head: readonly string[], lines: readonly (readonly string[])[]) => string;

/** @param rows with verdicts */
export function fencesTables(rows: readonly ResultRow[], table: MakeTable): string {
  const known = new Map(rows.filter(isFencesRow).map((row) => [row.work, row]));
  if (known.size === 0) return '';
  const writes = PAIR_PLANS.flatMap((plan) => plan.clients.flatMap((clients) => writesLine(known, plan, clients)));
  const trips = PAIR_PLANS.flatMap((plan) => tripsLine(known, plan));
  const failOver = failOverLines(known);
  const sections = [
    writes.length === 0 ? '' : `Writes by turns, writes/s.\n\n${table(WRITES_HEAD, writes)}`,
    trips.length === 0 ? '' : `Round trips of one write.\n\n${table(TRIPS_HEAD, trips)}`,
    failOver.length === 0 ? '' : table(FAIL_OVER_HEAD, failOver),
    notesOf(known).join('\n'),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

const WRITES_HEAD = ['write', 'clients', 'compared', 'without', 'through', 'ratio', 'must', 'met'];
const TRIPS_HEAD = ['write', 'waited for without the fence', 'through the fence', 'at most', 'met', 'sent in all'];
const FAIL_OVER_HEAD = ['fail-over', 'ms', 'must', 'met'];

function writesLine(known: ReadonlyMap<string, ResultRow>, plan: PairPlan, clients: number): string[][] {
  const rows = pairRows(plan, clients);
  const [without, through] = [known.get(rows.without), known.get(rows.through)];
  if (without === undefined || through === undefined) return [];
  const ratio = through.ratio ?? ratioOf(through, without);
  const factor = (value: number | null): string => (value === null ? '–' : `${formatFigure(value)}×`);
  const compared = `${plan.through} / ${plan.without}`;
  const figures = [formatRange(without), formatRange(through), factor(ratio), factor(through.target)];
  return [[plan.title, `${clients}`, compared, ...figures, met(through)]];
}

/** Where nothing is asked, no verdict has made one. */
function ratioOf({ median: through }: ResultRow, { median: without }: ResultRow): number | null {
  return through === null || without === null || without === 0 ? null : through / without;
}

function tripsLine(known: ReadonlyMap<string, ResultRow>, plan: PairPlan): string[][] {
  const rows = tripRows(plan);
  const found = [rows.without, rows.through, rows.sent].map((work) => known.get(work));
  const [without, through, sent] = found;
  if (without === undefined || through === undefined) return [];
  const count = (value: number | null | undefined): string => (typeof value === 'number' ? String(value) : '–');
  const figures = [count(without.median), count(through.median), count(through.target)];
  return [[plan.title, ...figures, met(through), count(sent?.median)]];
}

function failOverLines(known: ReadonlyMap<string, ResultRow>): string[][] {
  return [FAIL_OVER_ROWS.each, FAIL_OVER_ROWS.worst].flatMap((work) => {
    const row = known.get(work);
    if (row === undefined) return [];
    const must = row.target === null ? '–' : `below ${formatFigure(row.target)}`;
    return [[withoutPrefix(work), formatRange(row), must, met(row)]];
  });
}

function met({ met: reached }: ResultRow): string {
  return reached === null ? '–' : reached ? 'yes' : '**no**';
}

/** What was compared, or why it was not. */
function notesOf(known: ReadonlyMap<string, ResultRow>): string[] {
  return PAIR_PLANS.flatMap((plan) => {
    const measured = plan.clients.map((clients) => known.get(pairRows(plan, clients).through));
    const note = measured.find((row) => row !== undefined)?.note ?? '';
    if (note === '') return [];
    return [`- ${plan.title} (${plan.clients.map(clientsText).join(', ')}): ${note}.`];
  });
}

function withoutPrefix(work: string): string {
  return work.slice(work.indexOf(': ') + 2);
}
