/** What a run over the mutants found, as text and as data. */

import type { Hunt } from './hunt.ts';
import type { ControlResult, Finding, MutantResult, MutantsReport } from './run-mutants.ts';

const HEADINGS = ['mutant', 'by', 'as', 'needed', 'simulated s', 'wall s'] as const;
const MAX_MESSAGE_CHARS = 300;

/** A line for each mutant and detector, then the controls, then what is not as it must be. */
export function renderReport(report: MutantsReport): string {
  const lines = [HEADINGS, ...report.results.flatMap(rows)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const table = lines.map((cells) =>
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
    mutants: report.results.map(({ mutant, verdict, findings }) => ({
      name: mutant.name,
      breaks: mutant.breaks,
      verdict,
      findings,
    })),
    controls: report.controls,
  };
}

function rows({ mutant, findings }: MutantResult): readonly (readonly string[])[] {
  return findings.map(({ detector, hunts }) => [
    mutant.name,
    detector,
    [...new Set(hunts.flatMap(({ caught }) => (caught === undefined ? [] : [caught.name])))].join(', ') || '-',
    needed(hunts),
    hunts.map(({ simulatedMs }) => seconds(simulatedMs)).join(', '),
    hunts.map(({ wallMs }) => seconds(wallMs)).join(', '),
  ]);
}

/** How many seeds of each range it took, or, within one attempt, how many runs. */
function needed(hunts: readonly Hunt[]): string {
  const unit = hunts.some(({ caught }) => caught?.run !== undefined) ? 'runs' : 'seeds';
  const counts = hunts.map(({ caught, attempts }) =>
    caught === undefined ? `none in ${attempts}` : String(caught.run ?? attempts),
  );
  return `${counts.join(', ')} ${unit}`;
}

function renderControl({ detector, seeds, passed, hunt }: ControlResult): string {
  const verdict = passed ? 'nothing found' : `FAILED: ${firstFinding(hunt)}`;
  return `control: the product itself, ${detector}, ${seeds} seeds that caught mutants: ${verdict}`;
}

function problems({ mutant, verdict, findings }: MutantResult): string[] {
  const lines: string[] = [];
  const hunts = findings.flatMap((finding) => finding.hunts);
  if (verdict === 'survived')
    lines.push(`${mutant.name} SURVIVED ${survived(findings)}, which should notice that it breaks "${mutant.breaks}"`);
  if (verdict === 'broken')
    lines.push(`${mutant.name} is BROKEN: ${hunts.flatMap(({ broken }) => broken ?? []).join('; ')}`);
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

function survived(findings: readonly Finding[]): string {
  const blind = findings.filter(({ hunts }) => hunts.some(({ caught }) => caught === undefined));
  return blind.map(({ detector }) => detector).join(' and ');
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
