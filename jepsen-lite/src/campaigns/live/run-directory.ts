/** The directory of one run: its scenario, history and result as files, beside the logs and data that its processes left. */

import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Violation } from '../../checkers/violation.ts';
import type { History } from '../../history/history.ts';
import { historyChunks } from '../../history/json-lines.ts';
import { decodeScenario, encodeScenario, type SavedScenario } from '../../scenario/scenario-file.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { RunResult } from './result.ts';

const SCENARIO_FILE = 'scenario.json';
export const HISTORY_FILE = 'history.jsonl';
export const RESULT_FILE = 'result.json';
const REPORT_FILE = 'report.html';
/** In place of the hash of a path: no two runs on real processes take the same. */
export const LIVE_TRACE = 'live';

/** The directory cannot be used, or is not one of a run. */
export class RunDirectoryError extends Error {
  constructor(directory: string, problem: string) {
    super(`${directory}: ${problem}`);
    this.name = 'RunDirectoryError';
  }
}

/** A result's file is none, or one of another version. */
export class ResultFormatError extends Error {
  constructor(file: string, problem: string) {
    super(`${file}: ${problem}`);
    this.name = 'ResultFormatError';
  }
}

/** What an earlier run left in it goes; whatever else is there stays untouched. @throws RunDirectoryError */
export function prepareRunDirectory(directory: string): void {
  if (existsSync(directory)) {
    if (!statSync(directory).isDirectory()) throw new RunDirectoryError(directory, 'is not a directory');
    const found = readdirSync(directory);
    if (found.length > 0 && !found.includes(SCENARIO_FILE)) {
      throw new RunDirectoryError(directory, `holds other files than those of a run; give another --out`);
    }
    for (const name of ['logs', 'data', SCENARIO_FILE, HISTORY_FILE, RESULT_FILE, REPORT_FILE]) {
      rmSync(join(directory, name), { recursive: true, force: true });
    }
  }
  mkdirSync(directory, { recursive: true });
}

/** Before the run, so that one that hangs or is killed can be repeated; and again with what was wrong, as soon as that is known. */
export function saveScenario(directory: string, scenario: Scenario, failure?: Violation): void {
  writeFileSync(join(directory, SCENARIO_FILE), encodeScenario({ scenario, failure, traceHash: LIVE_TRACE }));
}

/** Before it is judged, and again with what the log says among it. */
export function saveHistory(directory: string, history: History): void {
  const file = openSync(join(directory, HISTORY_FILE), 'w');
  try {
    for (const chunk of historyChunks(history)) appendFileSync(file, chunk);
  } finally {
    closeSync(file);
  }
}

export function saveRun(directory: string, scenario: Scenario, history: History, result: RunResult): void {
  saveScenario(directory, scenario, result.failure);
  saveHistory(directory, history);
  writeFileSync(join(directory, RESULT_FILE), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** @throws ResultFormatError, and what reading a file throws */
export function readResult(file: string): RunResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ResultFormatError(file, error.message);
    throw error;
  }
  const missing = value === null || typeof value !== 'object' ? PARTS : PARTS.filter((part) => !(part in value));
  if (missing.length > 0) throw new ResultFormatError(file, `${missing.join(', ')} is missing: is it of this version?`);
  return value as RunResult;
}

/** What a page is made of; the rest of a result may be missing. */
const PARTS: readonly (keyof RunResult)[] = [
  'verdict',
  'target',
  'verdicts',
  'begun',
  'struck',
  'leftOut',
  'idle',
  'availability',
  'logExcerpt',
];

/** Of a run's directory, or a scenario's file. @throws ScenarioFormatError, and what reading a file throws */
export function readScenario(path: string): SavedScenario {
  const file = statSync(path).isDirectory() ? join(path, SCENARIO_FILE) : path;
  return decodeScenario(readFileSync(file, 'utf8'));
}
