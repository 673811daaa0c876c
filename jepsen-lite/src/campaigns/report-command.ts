/** `jepsen report`: the page of a run that was saved. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Command } from 'commander';

import { checkHistory } from '../checkers/check.ts';
import { HistoryFormatError } from '../history/json-line.ts';
import { decodeHistory } from '../history/json-lines.ts';
import { ScenarioFormatError } from '../plan/fields.ts';
import { decodeScenario, type SavedScenario } from '../scenario/scenario-file.ts';
import { checkersOf } from '../workloads/index.ts';
import { pageOf } from './live/page.ts';
import { readResult, RESULT_FILE, ResultFormatError } from './live/run-directory.ts';
import { outcomeOf, type ReportRun } from '../report/run.ts';
import { writeReport } from '../report/write-report.ts';

const HISTORY_FILE = 'history.jsonl';
const SCENARIO_FILE = 'scenario.json';
/** As `jepsen sim` keeps them: `seed-5.history.jsonl` beside `seed-5.json`. */
export const HISTORY_SUFFIX = '.history.jsonl';
const USAGE_EXIT_CODE = 2;

export function reportCommand(): Command {
  return new Command('report')
    .description('makes the page of a saved run: what it found, or else a new judgement of its history')
    .argument('<path>', `a history, or a directory with ${HISTORY_FILE}`)
    .option('--scenario <file>', `what was run. Otherwise ${SCENARIO_FILE}, or NAME.json beside NAME${HISTORY_SUFFIX}`)
    .option('--out <file>', 'where to write the page. Otherwise beside the history')
    .action(report);
}

async function report(path: string, flags: { readonly scenario?: string; readonly out?: string }): Promise<void> {
  let saved: { readonly run: ReportRun; readonly page: string };
  try {
    saved = readRun(path, flags.scenario);
  } catch (error) {
    const isExpected =
      error instanceof HistoryFormatError ||
      error instanceof ScenarioFormatError ||
      error instanceof ResultFormatError ||
      (error instanceof Error && 'code' in error);
    if (!isExpected) throw error;
    process.stderr.write(`${path}: ${error.message}\n`);
    process.exitCode = USAGE_EXIT_CODE;
    return;
  }
  const page = flags.out ?? saved.page;
  const file = await writeReport(dirname(page), saved.run, basename(page));
  const valid = outcomeOf(saved.run);
  process.stdout.write(`${valid === true ? 'passed' : valid === false ? 'failed' : 'unknown'}: ${file}\n`);
}

/** @throws HistoryFormatError, ScenarioFormatError, ResultFormatError, or what reading a file throws */
function readRun(path: string, scenarioFile: string | undefined): { readonly run: ReportRun; readonly page: string } {
  const isDirectory = statSync(path).isDirectory();
  const file = isDirectory ? join(path, HISTORY_FILE) : path;
  const isKept = file.endsWith(HISTORY_SUFFIX);
  const name = isKept ? file.slice(0, -HISTORY_SUFFIX.length) : join(dirname(file), basename(file, '.jsonl'));
  const beside = isKept ? `${name}.json` : join(dirname(file), SCENARIO_FILE);
  const scenarioPath = scenarioFile ?? (existsSync(beside) ? beside : undefined);
  const history = decodeHistory(readFileSync(file));
  const saved: SavedScenario | undefined =
    scenarioPath === undefined ? undefined : decodeScenario(readFileSync(scenarioPath, 'utf8'));
  // Faults, their effects and the servers' logs are known to the run alone, so what it found counts.
  const resultFile = join(dirname(file), RESULT_FILE);
  if (basename(file) === HISTORY_FILE && existsSync(resultFile)) {
    const kept = { directory: dirname(file), scenario: saved?.scenario, history };
    return { run: pageOf(readResult(resultFile), kept), page: join(dirname(file), 'report.html') };
  }
  const failure = saved?.failure;
  // One that something ended early has calls that were cut short: what checkers say of it means nothing.
  const isCutShort = failure !== undefined && !failure.name.startsWith('history: ');
  const checkers = saved === undefined ? undefined : checkersOf(saved.scenario.clients);
  const verdicts = isCutShort ? [] : checkHistory(history, checkers === undefined ? {} : { checkers });
  const run: ReportRun = {
    title: basename(isDirectory ? path : name),
    target: `from ${basename(file)}`,
    history,
    verdicts,
    failure,
    scenario: saved?.scenario,
    replay: scenarioPath === undefined ? undefined : `npx -y pnpm@12 jepsen replay ${scenarioPath}`,
  };
  return { run, page: isDirectory ? join(path, 'report.html') : `${name}.html` };
}
