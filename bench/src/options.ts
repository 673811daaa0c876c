/** The command line of `bench`. */

import { Command, InvalidArgumentError } from 'commander';

import { FENCES, type FenceName } from './fences/plans.ts';
import { PEER_NAMES, type PeerName } from './systems/debian.ts';
import { WORKS, WORKS_ON_REQUEST, type WorkName } from './works/table.ts';

export interface BenchOptions {
  readonly against: readonly PeerName[];
  readonly only: readonly WorkName[];
  readonly quick: boolean;
  readonly count: boolean;
  readonly writeBaseline: boolean;
  readonly native: boolean | undefined;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly charts: string | undefined;
  readonly logs: string | undefined;
  readonly windows: number | undefined;
  readonly trials: number;
  readonly minutes: number;
  readonly stateMib: number;
  readonly sessions: number;
  readonly sessionTimeoutMs: number;
  readonly processes: number;
  readonly rounds: number;
  readonly clients: number;
  readonly watches: number;
  readonly watchingClients: number;
  readonly connections: number;
  readonly outages: string | undefined;
  readonly fences: readonly FenceName[];
}

export async function parseOptions(argv: readonly string[]): Promise<BenchOptions> {
  const program = new Command('bench')
    .description('measure three local servers with durable writes, side by side with others when told to')
    .argument('[works...]', 'which works, as with --only, such as: bench fences')
    .option(
      '--against <systems>',
      `beside which others, separated by commas: ${PEER_NAMES.join(', ')}`,
      list(PEER_NAMES),
      [],
    )
    .option('--only <works>', `which works, separated by commas: ${WORKS.join(', ')}`, list(WORKS))
    .option(
      '--quick',
      'a rough look in under four minutes: short windows, few trials, few nodes, no controls, no clients',
      false,
    )
    .option('--count', 'count what an operation costs in system calls, bytes and allocations; nothing else', false)
    .option('--write-baseline', 'with --count: keep what was counted as the new baseline', false)
    .option('--native', "run the peers' own clients as controls; so it is but with --quick")
    .option('--no-native', "leave out the peers' own clients as controls")
    .option('--json <file>', 'write every figure and the windows behind it, after each window what there is')
    .option('--markdown <file>', 'write the tables, which are printed in any case')
    .option('--charts <directory>', 'write charts as SVG')
    .option('--logs <directory>', 'where servers keep data and logs (data goes at the end)')
    .option('--windows <n>', 'in how many each load is measured, of which the median counts', parseCount)
    .option('--trials <n>', 'trials of each fault of fail-over', parseCount, 20)
    .option('--minutes <n>', 'how long quiet watches', parseCount, 10)
    .option('--state-mib <n>', 'how large the state is that join sends; 64 with --quick', parseCount, 1_024)
    .option('--sessions <n>', 'sessions of crowd; 300 with --quick', parseCount, 2_000)
    .option('--session-timeout-ms <n>', 'of the sessions of crowd and resume', parseCount, 10_000)
    .option('--processes <n>', 'client processes of crowd and resume', parseCount, 2)
    .option('--rounds <n>', 'rounds of outages, resume and large-transactions; 1 with --quick', parseCount, 5)
    .option('--watching-clients <n>', 'clients of resume; 300 with --quick', parseCount, 10_000)
    .option('--clients <n>', 'clients of each system in outages', parseCount, 50)
    .option('--watches <n>', 'nodes and watches of watches; 20,000 with --quick', parseCount, 1_000_000)
    .option('--connections <n>', 'among which they are divided', parseCount, 50)
    .option('--outages <file>', 'write the longest time without service of every client in outages')
    .option('--fences <names>', `which of fences, separated by commas: ${FENCES.join(', ')}`, list(FENCES), [
      ...FENCES,
    ]);
  // pnpm hands a "--" on.
  await program.parseAsync(argv.filter((argument) => argument !== '--'));
  const flags = program.opts<Omit<BenchOptions, 'only'> & { readonly only?: readonly WorkName[] }>();
  const named = program.args.flatMap((argument) => worksOf(program, argument));
  const only = [...named, ...(flags.only ?? [])];
  return { ...flags, windows: flags.windows, only: only.length > 0 ? only : worksByDefault(flags.quick) };
}

function worksOf(program: Command, argument: string): WorkName[] {
  try {
    return list(WORKS)(argument);
  } catch (error) {
    return program.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function worksByDefault(quick: boolean): WorkName[] {
  return WORKS.filter((work) => !WORKS_ON_REQUEST.includes(work) && !(quick && work === 'clients'));
}

function list<T extends string>(known: readonly T[]): (text: string) => T[] {
  return (text) =>
    text.split(',').map((name) => {
      const found = known.find((candidate) => candidate === name.trim());
      if (found === undefined) throw new InvalidArgumentError(`"${name}" is none of ${known.join(', ')}`);
      return found;
    });
}

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError(`"${text}" is not a positive integer`);
  return value;
}
