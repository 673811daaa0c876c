/** The results as Markdown: our generators' table, the controls, the table through client libraries, and what was measured how. */

import { fencesTables } from '../fences/tables.ts';
import { isFencesRow } from '../fences/plans.ts';
import type { SystemName } from '../generator/systems.ts';
import type { SystemUnderTest } from '../systems/system.ts';
import { median } from '../statistics.ts';
import { formatFigure, formatPercent, formatRange } from './figures.ts';
import type { ResultRow } from './result-row.ts';
import { countedRow } from './verdicts.ts';

export interface Report {
  readonly rows: readonly ResultRow[];
  readonly systems: readonly SystemUnderTest[];
  /** What could not be measured, and why. */
  readonly failures: readonly string[];
  readonly machine: string;
  readonly command: string;
}

export function markdownReport({ rows, systems, failures, machine, command }: Report): string {
  const sections = [
    `Measured on ${machine}, with \`${command}\`. Median (range) of the windows.`,
    systemsTable(systems),
    mainTable(rows, systems),
    controlTable(rows),
    clientsTable(rows, systems),
    ownTable(rows.filter((row) => !isFencesRow(row))),
    fencesTables(rows, table),
    notes(rows, failures),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function systemsTable(systems: readonly SystemUnderTest[]): string {
  return table(
    ['system', 'version', 'settings'],
    systems.map(({ name, version, settings }) => [name, version, settings]),
  );
}

function mainTable(rows: readonly ResultRow[], systems: readonly SystemUnderTest[]): string {
  const names = systems.map(({ name }) => name);
  const works = [
    ...new Set(rows.filter((row) => row.route === 'raw' && row.comparison === 'peers').map(({ work }) => work)),
  ];
  if (works.length === 0) return '';
  const lines = works.map((work) => {
    const unit = rows.find((row) => row.work === work)?.unit ?? '';
    const ours = rows.find((row) => row.work === work && row.system === 'holdfast');
    const figures = names.map((name) => formatCounted(rows, work, name));
    return [`${work}, ${unit}`, ...figures, ...verdict(ours), generatorShares(rows, work, names)];
  });
  return table(['work', ...names, 'ratio', 'must', 'goal', 'met', 'generator, % of a core'], lines);
}

function formatCounted(rows: readonly ResultRow[], work: string, system: SystemName): string {
  const row = countedRow(rows, work, system);
  if (row === undefined) return '–';
  return row.route === 'native' ? `${formatRange(row)}, its own client` : formatRange(row);
}

function verdict(ours: ResultRow | undefined): string[] {
  if (ours === undefined) return ['–', '–', '–', '–'];
  const factor = (value: number | null): string => (value === null ? '–' : `${formatFigure(value)}×`);
  const met = ours.met === null ? '–' : ours.met ? 'yes' : '**no**';
  return [factor(ours.ratio), factor(ours.target), factor(ours.goal), met];
}

function generatorShares(rows: readonly ResultRow[], work: string, systems: readonly SystemName[]): string {
  return systems
    .map((system) => {
      const row = rows.find(
        (candidate) => candidate.work === work && candidate.system === system && candidate.route === 'raw',
      );
      return row === undefined || row.windows.length === 0
        ? '–'
        : String(Math.round(100 * median(row.windows.map(({ generatorCores }) => generatorCores))));
    })
    .join('/');
}

function controlTable(rows: readonly ResultRow[]): string {
  const throughClients = new Set(rows.filter(({ route }) => route === 'client').map(({ work }) => work));
  const natives = rows.filter(({ route, work }) => route === 'native' && !throughClients.has(work));
  if (natives.length === 0) return '';
  const lines = natives.map((native) => {
    const raw = rows.find(
      ({ work, system, route }) => work === native.work && system === native.system && route === 'raw',
    );
    const share =
      typeof raw?.median === 'number' && typeof native.median === 'number'
        ? formatFigure(raw.median / native.median)
        : '–';
    const counted = countedRow(rows, native.work, native.system);
    const cores = formatPercent(median(native.windows.map(({ generatorCores }) => generatorCores)));
    return [
      native.work,
      native.system,
      raw === undefined ? '–' : formatRange(raw),
      formatRange(native),
      share,
      cores,
      counted?.route ?? '–',
    ];
  });
  const head = [
    'work',
    'system',
    'our generator',
    'its own client',
    'ratio',
    'share of a core of its own client',
    'counts',
  ];
  return `Controls: the same loops through the peers' own clients.\n\n${table(head, lines)}`;
}

function clientsTable(rows: readonly ResultRow[], systems: readonly SystemUnderTest[]): string {
  const clients = rows.filter(({ route, comparison }) => route === 'client' && comparison === 'peers');
  if (clients.length === 0) return '';
  const names = systems.map(({ name }) => name);
  const lines = [...new Set(clients.map(({ work }) => work))].map((work) => {
    const ours = clients.find((row) => row.work === work && row.system === 'holdfast');
    const figures = names.map((name) => formatCounted(rows, work, name));
    return [`${work}, ${ours?.unit ?? 'cycles/s'}`, ...figures, ...verdict(ours)];
  });
  const head = ['work', ...names, 'ratio', 'must', 'goal', 'met'];
  const text = "As users see it, through client libraries of Node.js, or a peer's own client where that is better.";
  return `${text}\n\n${table(head, lines)}`;
}

/** What is about our system alone: one figure to another, or to a bound of its own. */
function ownTable(rows: readonly ResultRow[]): string {
  const own = rows.filter(({ comparison }) => comparison === 'own');
  if (own.length === 0) return '';
  const lines = own.map((row) => {
    const { work, unit, baseline, target, goal } = row;
    const bound = (value: number | null): string => (value === null ? '–' : `${formatFigure(value)} ${unit}`);
    const [ratio, must, aim, met] = verdict(row);
    const asked = baseline === null ? [bound(target), bound(goal)] : [must, aim];
    return [`${work}, ${unit}`, formatRange(row), baseline ?? '–', ratio, ...asked, met].map((cell) => cell ?? '–');
  });
  const head = ['work', 'holdfast', 'compared with', 'ratio', 'must', 'goal', 'met'];
  return `Holdfast alone.\n\n${table(head, lines)}`;
}

function notes(rows: readonly ResultRow[], failures: readonly string[]): string {
  const lines = rows
    .filter((row) => row.note !== '' && !isFencesRow(row))
    .map(({ work, system, note }) => `- ${work}, ${system}: ${note}.`);
  lines.push(...failures.map((failure) => `- Not measured to its end: ${failure}.`));
  const windows = rows.flatMap((row) => row.windows);
  const disturbed = windows.filter((window) => window.disturbed).length;
  if (disturbed > 0) {
    lines.push(
      `- In ${disturbed} of ${windows.length} windows other processes took more than 6 % of a core, and the repeats were no better: these figures are not for the record.`,
    );
  }
  return lines.join('\n');
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n');
}
