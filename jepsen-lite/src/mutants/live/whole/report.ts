/** What whole runs with planted bugs came to, as text and as data. */

import type { WholeResult } from './run-whole.ts';

const MAX_REASON_CHARS = 200;

/** One line, and one for each run that was not as it must be. */
export function renderWholeResult({ mutant, run, attempts, passed }: WholeResult): string {
  const expected = attempts.filter((each) => each.expected);
  const totalMs = attempts.reduce((sum, { wallMs }) => sum + wallMs, 0);
  const time = `${Math.round(totalMs / 1_000)} s`;
  const others = attempts.flatMap(({ seed, as, kept }) =>
    kept === undefined ? [] : `  seed ${seed}: ${as.slice(0, MAX_REASON_CHARS)} (see ${kept})`,
  );
  const what =
    mutant === undefined
      ? `control: the product itself, ${run}: ${expected.length} of ${attempts.length} valid`
      : `${mutant.name}: shown by ${run}, ${expected.length} of ${attempts.length}`;
  const as = mutant === undefined || expected[0] === undefined ? '' : `: ${expected[0].as.slice(0, MAX_REASON_CHARS)}`;
  return [`${what}${passed ? '' : ' FAILED'}${as} (${time})`, ...others].join('\n');
}

/** The results, then a line over all. */
export function renderWholeReport(results: readonly WholeResult[]): string {
  const bugs = results.filter(({ mutant }) => mutant !== undefined);
  const shown = bugs.filter(({ passed }) => passed).length;
  const verdict = results.every(({ passed }) => passed) ? 'passed' : 'FAILED';
  const lines = results.map(renderWholeResult);
  return [...lines, `whole runs: ${shown} of ${bugs.length} planted bugs shown; ${verdict}`].join('\n');
}

/** One JSON value: what `docs/benchmarks/planted-bugs-live.json` keeps. */
export function wholeAsData(results: readonly WholeResult[]): unknown {
  const row = ({ run, attempts }: WholeResult): object => ({
    run,
    expected: attempts.filter(({ expected }) => expected).length,
    runs: attempts.length,
    as: [...new Set(attempts.flatMap(({ as }) => reasonOf(as) ?? []))].toSorted(),
    medianSeconds: median(attempts.map(({ wallMs }) => Math.round(wallMs / 1_000))),
  });
  return {
    bugs: Object.fromEntries(
      results.flatMap((result) => (result.mutant === undefined ? [] : [[result.mutant.name, row(result)]])),
    ),
    controls: Object.fromEntries(
      results.flatMap((result) => (result.mutant === undefined ? [[result.run, row(result)]] : [])),
    ),
  };
}

/** The name of what was wrong, without what it was wrong with; undefined: nothing was. */
function reasonOf(as: string): string | undefined {
  return /^invalid: ((?:(?:history|log): )?[^:]+)/.exec(as)?.[1];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
