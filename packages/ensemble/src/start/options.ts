/** The launcher's options. */

import { Command, CommanderError, InvalidArgumentError } from 'commander';

import { DEFAULT_BASE_PORT, HIGHEST_BASE_PORT, MAX_SERVERS } from '../addresses.ts';

export interface StartOptions {
  readonly servers: number;
  readonly basePort: number;
  readonly fresh: boolean;
  readonly data: string;
}

export type ParsedOptions =
  | { readonly type: 'start'; readonly options: StartOptions }
  /** Help was asked for, or the options are wrong; it has been said. */
  | { readonly type: 'exit'; readonly code: number };

/** `args` may begin with the `--` that some package runners pass on. */
export function parseStartOptions(args: readonly string[]): ParsedOptions {
  const command = new Command('start')
    .description('Starts a local ensemble: lockd servers and a fenced store. Runs until Ctrl-C; the data stays.')
    .option('--servers <n>', `how many lockd servers, 1 to ${MAX_SERVERS}`, wholeNumber(1, MAX_SERVERS), 3)
    .option(
      '--base-port <port>',
      'server n serves clients at this + n and peers at this + 100 + n; the store is at this + 300',
      wholeNumber(1_024, HIGHEST_BASE_PORT),
      DEFAULT_BASE_PORT,
    )
    .option('--data <directory>', 'where the data is', directory, '.holdfast')
    .option('--fresh', 'delete the data that is there, and say what was deleted', false)
    .allowExcessArguments(false)
    .exitOverride();
  try {
    command.parse(args[0] === '--' ? args.slice(1) : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { type: 'exit', code: error.exitCode === 0 ? 0 : 2 };
  }
  return { type: 'start', options: command.opts<StartOptions>() };
}

/** An empty one would be the present directory, and --fresh would clear it. */
function directory(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must name a directory.');
}

function wholeNumber(lowest: number, highest: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= lowest && number <= highest) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${lowest} to ${highest}.`);
  };
}
