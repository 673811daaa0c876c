/** `jepsen check`: whether a history of operations, of this system or any other, is linearizable. */

import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';

import { checkLinearizable, DEFAULT_LIMITS } from '../checkers/linearizability/linearizable.ts';
import { HistoryFormatError } from '../history/json-line.ts';
import type { Value } from '../history/operations/operation.ts';
import { FORMATS, readOperations, type FormatName } from '../history/operations/read.ts';
import { MODELS, type ModelName } from '../models/index.ts';
import { renderResult } from './report.ts';

const EXIT_CODES = { valid: 0, invalid: 1, unknown: 2 } as const;
/** A wrong argument or file: 2 is taken here. */
const CHECK_USAGE_EXIT_CODE = 3;
const MEBIBYTE = 1 << 20;

interface Flags {
  readonly model: ModelName;
  readonly format?: FormatName;
  readonly keyed?: true;
  readonly initial?: Value;
  readonly permits?: number;
  readonly limit?: number;
  readonly seconds: number;
  readonly configurations: number;
  readonly memory: number;
}

export function checkCommand(): Command {
  const models = new Option('--model <name>', 'what the operations were done to').choices(Object.keys(MODELS));
  const format = new Option('--format <name>', 'of the file, where its beginning does not show it').choices(FORMATS);
  return new Command('check')
    .description('says whether a history is linearizable: valid (exit code 0), invalid (1), unknown (2)')
    .argument('<file>', 'the history; - is standard input')
    .addOption(models.makeOptionMandatory())
    .addOption(format)
    .option('--keyed', 'values are pairs of a key and the value, as jepsen.independent has them')
    .option('--initial <JSON>', 'what a register has at first', json)
    .option('--permits <count>', 'of the semaphore', positive)
    .option('--limit <count>', 'how often an owner may hold the reentrant mutex at once', positive)
    .option('--seconds <count>', 'unknown after so long', positive, DEFAULT_LIMITS.ms / 1_000)
    .option('--configurations <count>', 'unknown after so many', positive, DEFAULT_LIMITS.configurations)
    .option('--memory <MiB>', 'unknown when the search takes more', positive, DEFAULT_LIMITS.bytes / MEBIBYTE)
    .action(check);
}

function check(file: string, flags: Flags, command: Command): void {
  const { model: name, seconds, configurations, memory, ...rest } = flags;
  if (name === 'semaphore' && flags.permits === undefined) command.error('error: a semaphore needs --permits <count>');
  const limits = { ms: seconds * 1_000, configurations, bytes: memory * MEBIBYTE };
  const model = MODELS[name](rest);
  try {
    const operations = readOperations(readFileSync(file === '-' ? 0 : file, 'utf8'), { ...rest, model: name });
    const result = checkLinearizable(operations, model, { limits });
    process.stdout.write(renderResult(result, model, limits));
    process.exitCode = EXIT_CODES[result.type];
  } catch (error) {
    if (!(error instanceof HistoryFormatError) && !(error instanceof Error && 'code' in error)) throw error;
    process.stderr.write(`${file}: ${error.message}\n`);
    process.exitCode = CHECK_USAGE_EXIT_CODE;
  }
}

function json(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    throw new InvalidArgumentError('give it as JSON: 0, "text", null');
  }
}

function positive(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError('must be a whole number from 1');
  return value;
}
