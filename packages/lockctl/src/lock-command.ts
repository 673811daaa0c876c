/** The command line of `lockctl lock`: which locks, how they are held, for how long to wait, and what to run. */

import { Option, type Command } from 'commander';
import { MAX_PERMITS } from '@holdfast/protocol';

import { parseCount, parseDuration, parseLockDelay, parseMode, type LockMode } from './arguments.ts';
import type { CommandRun, GlobalOptions } from './command-run.ts';
import { runUnderLock, type LockRequest } from './commands/lock.ts';
import type { Environment } from './environment.ts';
import { temporaryFailure, UsageFailure } from './failure.ts';

/** The least that connecting gets of a short wait for a lock. */
const MIN_CONNECT_MS = 1_000;

interface LockOptions {
  readonly wait?: number;
  readonly mode: LockMode;
  readonly permits?: number;
  readonly sessionTimeout?: number;
  readonly lockDelay: number;
}

export function addLock(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('lock')
    .usage('NAME… [options] -- CMD…')
    .description('runs CMD while holding the lock NAME, with HOLDFAST_LOCK and HOLDFAST_TOKEN in its environment')
    .argument('<name>', 'the lock; several before "--" are taken at once, or not at all')
    .argument('<command...>', 'after "--": what to run')
    .option(
      '--wait <duration>',
      'give up after this long, with exit code 75; 0 does not queue (default: no limit)',
      parseDuration,
    )
    .addOption(
      new Option('--mode <mode>', 'exclusive, read, write, or semaphore=N, which has N permits')
        .argParser(parseMode)
        .default({ type: 'exclusive' }, 'exclusive'),
    )
    .option(
      '--permits <count>',
      'how many of a semaphore to take, all or none (default: 1)',
      parseCount(1, MAX_PERMITS),
    )
    .option(
      '--session-timeout <duration>',
      'how long the ensemble waits for a silent lockctl before it gives the lock to the next (default: 10s)',
      parseDuration,
    )
    .addOption(
      new Option(
        '--lock-delay <duration>',
        'when lockctl is lost while it holds the lock, the next in line is granted it so much later; at most 60s',
      )
        .argParser(parseLockDelay)
        .default(0, '0'),
    )
    .addHelpText('after', LOCK_HELP)
    .action(async (name: string, operands: string[], options: LockOptions) => {
      const { mode, permits = 1, lockDelay: lockDelayMs } = options;
      checkPermits(options);
      const globals = program.opts<GlobalOptions>();
      const named = namesAndCommand([name, ...operands], run.behindDashes);
      const request = { ...named, mode, permits, lockDelayMs, waitMs: options.wait, quiet: globals.json };
      await lockAndRun(globals, request, options.sessionTimeout, run, outside);
    });
}

/** Names stand before "--". Without it, or with nothing before it, there is one. */
function namesAndCommand(
  operands: readonly string[],
  behindDashes: number | undefined,
): Pick<LockRequest, 'names' | 'command' | 'args'> {
  const count = behindDashes === undefined ? 1 : Math.max(1, operands.length - behindDashes);
  const [command, ...args] = operands.slice(count);
  if (command === undefined) throw new UsageFailure('missing what to run, behind "--"');
  return { names: operands.slice(0, count), command, args };
}

function checkPermits({ mode, permits }: LockOptions): void {
  if (permits === undefined) return;
  if (mode.type !== 'semaphore') throw new UsageFailure('--permits is for --mode semaphore=N alone');
  if (permits > mode.permits)
    throw new UsageFailure(`--permits ${permits}: the semaphore of --mode has ${mode.permits} permits`);
}

/** Connecting counts as waiting. What may pass by itself ends as a wait that was too long does. */
async function lockAndRun(
  globals: GlobalOptions,
  request: Omit<LockRequest, 'waitedMs'>,
  sessionTimeoutMs: number | undefined,
  run: CommandRun,
  outside: Environment,
): Promise<void> {
  const { waitMs } = request;
  const connectTimeoutMs = Math.min(globals.timeout, Math.max(waitMs || Infinity, MIN_CONNECT_MS));
  const fromMs = outside.nowMs();
  try {
    await run.withSession(
      globals,
      async (client) => {
        const waitedMs = Math.max(0, outside.nowMs() - fromMs);
        run.exitCode = await runUnderLock(client, { ...request, waitedMs }, outside);
      },
      { connectTimeoutMs, ...(sessionTimeoutMs !== undefined && { sessionTimeoutMs }) },
    );
  } catch (error) {
    throw temporaryFailure(error);
  }
}

const LOCK_HELP = `
Exits with CMD's own code, 75 when the lock was not acquired in time or could not be for now, 76 when it was lost while CMD ran. CMD has a process group
of its own, which gets SIGTERM and then SIGKILL when the lock is lost. A process can be too slow to die: let the resource
check HOLDFAST_TOKEN. Signals to lockctl are passed on to CMD.

Of several locks HOLDFAST_LOCK is the first; HOLDFAST_LOCKS has all of them, one a line. There is one token for all.
--mode is how each of them is held. Whoever uses a lock uses it in one way: exclusive; read and write; or semaphore=N, with one N for all.`;
