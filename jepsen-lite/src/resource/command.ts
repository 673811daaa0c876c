/** `jepsen resource`: whether a resource of the user's own refuses what stale holders write. */

import { Command, InvalidArgumentError, Option } from 'commander';

import { EnsembleError } from '@holdfast/ensemble';

import { parseFence } from './adapters/fence.ts';
import { messageOf, ResourceInputError } from './adapters/resource.ts';
import { renderTrial } from './report.ts';
import { SITUATION_NAMES, type SituationName } from './situations/situation.ts';
import { tryResource } from './trial.ts';

const EXIT_CODES = { safe: 0, stale: 1, unknown: 2 } as const;
/** A wrong argument, or nothing that can be tried: 2 is taken here. */
const RESOURCE_USAGE_EXIT_CODE = 3;

interface Flags {
  readonly fence: string;
  readonly installUrl?: string;
  readonly servers?: readonly string[];
  readonly only?: readonly SituationName[];
  readonly rounds: number;
  readonly seed: number;
  readonly timeout: number;
  readonly json?: true;
}

export function resourceCommand(): Command {
  const only = new Option('--only <name...>', 'these situations').choices(SITUATION_NAMES);
  return new Command('resource')
    .description('says whether stale writes get into a resource of yours: no (exit code 0), yes (1), unknown (2)')
    .requiredOption(
      '--fence <URL or module>',
      'the resource: an address for PUT and GET, or a module that exports open()',
    )
    .option('--install-url <URL>', 'where a new holder announces its token by POST')
    .option('--servers <addresses>', 'of an ensemble that runs, with commas; without it one is started', list)
    .addOption(only)
    .option('--rounds <count>', 'of the race; other situations take fewer', positive, 100)
    .option(
      '--seed <number>',
      'what the moments of the race are drawn by',
      positive,
      1 + Math.floor(Math.random() * 1e9),
    )
    .option('--timeout <ms>', 'after which the outcome of a call is unknown', positive, 5_000)
    .option('--json', 'the report as JSON')
    .action(resource);
}

async function resource(flags: Flags): Promise<void> {
  const { servers, only, rounds, seed, timeout: callTimeoutMs } = flags;
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new Error('it was interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, interrupt);
  try {
    const fence = parseFence(flags.fence, flags.installUrl);
    const trial = await tryResource(
      {
        fence,
        rounds,
        seed,
        callTimeoutMs,
        ...(servers === undefined ? {} : { servers }),
        ...(only === undefined ? {} : { only }),
        onFinding: ({ name, verdict }) => void (flags.json === true || process.stderr.write(`${name}: ${verdict}\n`)),
      },
      controller.signal,
    );
    const report = { fence, rounds, seed, ...trial };
    process.stdout.write(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : renderTrial(trial));
    process.exitCode = EXIT_CODES[trial.verdict];
  } catch (error) {
    const expected = error instanceof ResourceInputError || error instanceof EnsembleError || controller.signal.aborted;
    process.stderr.write(`resource: ${expected || !(error instanceof Error) ? messageOf(error) : error.stack}\n`);
    process.exitCode = error instanceof ResourceInputError ? RESOURCE_USAGE_EXIT_CODE : EXIT_CODES.unknown;
  }
}

function list(text: string): string[] {
  return text.split(',').map((address) => address.trim());
}

function positive(text: string): number {
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < 1) throw new InvalidArgumentError('must be a whole number from 1');
  return value;
}
