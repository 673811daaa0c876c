/** What a run over the live mutants found, as text. */

import type { LiveResult } from './run-live-mutants.ts';

/** One line. */
export function renderLiveResult({ mutant, detector, failures, passed, wallMs }: LiveResult): string {
  const found = failures.filter((failure) => failure?.kind === 'promise').length;
  const [first] = failures.filter((failure) => failure !== undefined);
  const said = first === undefined ? '' : `: ${first.name}: ${first.message}`;
  const time = `${(wallMs / 1_000).toFixed(1)} s`;
  if (mutant === undefined)
    return `control: the product itself, ${detector}: ${passed ? 'nothing found' : `FAILED${said}`} (${time})`;
  const verdict = passed ? 'caught' : 'SURVIVED';
  return `${mutant.name}: ${verdict} by ${detector}, ${found} of ${failures.length}${said} (${time})`;
}

/** The results, then a line over all. */
export function renderLiveReport(results: readonly LiveResult[]): string {
  const mutants = results.filter(({ mutant }) => mutant !== undefined);
  const caught = mutants.filter(({ passed }) => passed).length;
  const verdict = results.every(({ passed }) => passed) ? 'passed' : 'FAILED';
  return [...results.map(renderLiveResult), `live mutants: ${caught} of ${mutants.length} caught; ${verdict}`].join(
    '\n',
  );
}
