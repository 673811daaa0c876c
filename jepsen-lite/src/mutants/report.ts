/** What a run over the mutants found, as text and as data. */

import type { Hunt } from './hunt.ts';
import type { ControlResult, MutantResult, MutantsReport } from './run-mutants.ts';

const HEADINGS = ['mutant', 'verdict', 'by', 'as', 'seeds needed', 'simulated s', 'wall s'] as const;
const MAX_MESSAGE_CHARS = 300;

/** A line a mutant, then the controls, then what is not as it must be. */
export function renderReport(report: MutantsReport): string {
  const rows = [HEADINGS, ...report.results.map(row)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const table = rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const caught = report.results.filter(({ verdict }) => verdict === 'caught').length;
  return [
    ...table,
    '',
    ...report.controls.map(renderControl),
    ...report.results.flatMap(problems),
    `mutants: ${caught} of ${report.results.length} caught; ${report.ok ? 'passed' : 'FAILED'}`,
  ].join('\n');
}

/** One JSON value. */
export function reportAsData(report: MutantsReport): unknown {
  return {
    ok: report.ok,
    mutants: report.results.map(({ mutant, verdict, hunts }) => ({
      name: mutant.name,
      breaks: mutant.breaks,
      caughtBy: mutant.caughtBy,
      verdict,
      hunts,
    })),
    controls: report.controls,
  };
}

function row({ mutant, verdict, hunts }: MutantResult): readonly string[] {
  const names = new Set(hunts.flatMap(({ caught }) => (caught === undefined ? [] : [caught.name])));
  return [
    mutant.name,
    verdict,
    mutant.caughtBy,
    [...names].join(', '),
    hunts.map(({ caught, attempts }) => (caught === undefined ? `none in ${attempts}` : String(attempts))).join(', '),
    hunts.map(({ simulatedMs }) => seconds(simulatedMs)).join(', '),
    hunts.map(({ wallMs }) => seconds(wallMs)).join(', '),
  ];
}

function renderControl({ detector, seeds, passed, hunt }: ControlResult): string {
  const verdict = passed ? 'nothing found' : `FAILED: ${firstFinding(hunt)}`;
  return `control: the product itself, ${detector}, ${seeds} seeds that caught mutants: ${verdict}`;
}

function problems({ mutant, verdict, hunts }: MutantResult): string[] {
  const lines: string[] = [];
  if (verdict === 'survived') lines.push(`${mutant.name} SURVIVED: nothing noticed that it breaks "${mutant.breaks}"`);
  if (verdict === 'broken') lines.push(`${mutant.name} is BROKEN: ${hunts.map(firstFinding).join('; ')}`);
  const unexpected = hunts.flatMap((found) => found.unexpected);
  const first = unexpected[0];
  if (first !== undefined) {
    const what = `${first.name}: ${first.message}`.slice(0, MAX_MESSAGE_CHARS);
    lines.push(
      `${mutant.name}: ${unexpected.length} attempts ended unexpectedly, which counts for nothing (seed ${first.seed}: ${what})`,
    );
  }
  return lines;
}

function firstFinding({ broken, caught, unexpected }: Hunt): string {
  const finding = caught ?? unexpected[0];
  const text =
    broken ?? (finding === undefined ? 'nothing' : `seed ${finding.seed}: ${finding.name}: ${finding.message}`);
  return text.slice(0, MAX_MESSAGE_CHARS);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
