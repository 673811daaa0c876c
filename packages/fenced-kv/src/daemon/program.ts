/** The command line: what can be asked of the program, and how it says no. */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS } from '../limits.ts';
import type { BackupOptions, RestoreOptions } from './backup.ts';
import type { BindOptions } from './bind.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import type { ResetFenceOptions } from './reset-fence.ts';
import type { ServeOptions } from './serve.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export interface Actions {
  serve(options: ServeOptions & { readonly logLevel: LogLevel }): Promise<void>;
  resetFence(bucket: string, options: ResetFenceOptions): Promise<void>;
  bind(bucket: string, options: BindOptions): Promise<void>;
  backup(options: BackupOptions): Promise<void>;
  restore(options: RestoreOptions): Promise<void>;
  printError(line: string): void;
}

type CommandLine = Omit<ServeOptions, 'data'> & { readonly data?: string; readonly logLevel: LogLevel };

const DATA_HELP = 'directory of the data (created if missing)';

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(args: readonly string[], actions: Actions): Promise<ExitCode> {
  const program = buildProgram(actions);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT_CODE.clean;
  } catch (error) {
    // commander has printed its own message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODE.clean : EXIT_CODE.usage;
    if (error instanceof ExitError) {
      actions.printError(`fenced-kvd: ${error.message}`);
      return error.exitCode;
    }
    actions.printError(
      `fenced-kvd: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    return EXIT_CODE.failure;
  }
}

export function buildProgram(actions: Actions): Command {
  const program = new Command('fenced-kvd')
    .description('A key-value store that refuses writes with a stale fencing token.')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: (text) => actions.printError(text.trimEnd()) })
    .option('--listen <host:port>', 'address to serve HTTP on', '127.0.0.1:7400')
    .option('--data <directory>', DATA_HELP)
    .option('--insecure', 'allow --listen beyond this machine: anybody who reaches the port may read and write', false)
    .option('--allow-token-jumps', 'take tokens any distance above the highest of their bucket', false)
    .option(
      '--ensemble <host:port,...>',
      'client addresses of the lock ensemble, which confirms tokens of bound buckets and elects replicas',
    )
    .option('--verify-tokens', 'take no new token in a bucket that is bound to no lock; needs --ensemble', false)
    .option(
      '--max-connections <count>',
      `connections in all; one more is closed (default: ${MAX_CONNECTIONS})`,
      parseCount,
    )
    .option(
      '--max-connections-per-address <count>',
      `connections of one address that is not loopback (default: ${MAX_CONNECTIONS_PER_ADDRESS})`,
      parseCount,
    )
    .addOption(new Option('--log-level <level>', 'what to log, to standard error').choices(LOG_LEVELS).default('info'))
    .action(async (options: CommandLine) => {
      if (options.data === undefined || options.data === '')
        throw new ExitError(EXIT_CODE.usage, 'say with --data where the data is to be kept');
      await actions.serve({ ...options, data: options.data });
    });
  addReplicaOptions(program);
  program
    .command('reset-fence <bucket>')
    .description('Let lower tokens pass again in a bucket, whether a server runs on the data or not.')
    .requiredOption('--data <directory>', 'directory of the data')
    .option('--to <token>', 'the new highest token; 0: any token passes', '0')
    .option('--from <token>', 'the present highest token; a running server needs it to lower a fence')
    .action(async (bucket: string, options: ResetFenceOptions) => {
      await actions.resetFence(bucket, options);
    });
  program
    .command('bind <bucket>')
    .description('Bind a bucket to the lock whose tokens it takes, whether a server runs on the data or not.')
    .requiredOption('--data <directory>', 'directory of the data')
    .requiredOption('--lock <name>', 'name of the lock at the ensemble')
    .action(async (bucket: string, options: BindOptions) => {
      await actions.bind(bucket, options);
    });
  program
    .command('backup')
    .description('Write all data to one file, whether a server runs on it or not.')
    .requiredOption('--data <directory>', 'directory of the data')
    .requiredOption('--to <file>', 'file of the backup, which must not be there yet')
    .action(async (options: BackupOptions) => {
      await actions.backup(options);
    });
  program
    .command('restore')
    .description('Write a backup into a directory, while no server runs on it; no fence is lowered.')
    .requiredOption('--data <directory>', DATA_HELP)
    .requiredOption('--from <file>', 'file that fenced-kvd backup has written')
    .action(async (options: RestoreOptions) => {
      await actions.restore(options);
    });
  return program;
}

function addReplicaOptions(program: Command): void {
  program
    .option('--replica-of <group>', 'be a replica of this group; needs --ensemble and the settings below')
    .option('--replica-id <id>', 'id of this data directory in the group, for all time')
    .option('--replicas <id=host:port,...>', 'where all replicas of the group listen for each other, this one too')
    .option('--peer-listen <host:port>', 'where this one listens for the others (default: as --replicas says)')
    .option('--advertise <url>', 'where clients find this replica (default: --listen)')
    .option('--secret-file <file>', 'file with the secret of the group, of at least 16 bytes')
    .option(
      '--initial-in-sync <id,...>',
      'replicas with which a new group begins; where it exists, this changes nothing',
    )
    .option('--session-timeout-ms <ms>', 'how long the ensemble waits for a silent primary (default: 4000)', parseCount)
    .option('--removal-ms <ms>', 'how long a primary waits for a silent replica (default: 2000)', parseCount);
}

function parseCount(text: string): number {
  if (/^[1-9][0-9]{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number from 1 to 9,999,999.');
}
