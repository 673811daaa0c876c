/** The command line: what there is, its options, and which command does it. */

import { Command, CommanderError, Option } from 'commander';

import { parseCount, parseDuration, parseIndex, parseServers, parseTtl, parseVersion } from './arguments.ts';
import { CommandRun, type GlobalOptions } from './command-run.ts';
import {
  DEFAULT_BENCH_CLIENTS,
  DEFAULT_BENCH_MS,
  MAX_BENCH_CLIENTS,
  MAX_BENCH_MS,
  runBench,
} from './commands/bench.ts';
import { addCompletion } from './commands/completion.ts';
import { createNode, setNode } from './commands/nodes.ts';
import { readTransaction, runTransaction } from './commands/transactions/transaction.ts';
import { showStatus } from './commands/status.ts';
import { runTop } from './commands/top.ts';
import { watchNode } from './commands/watch.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK, EXIT_USAGE } from './exit-code.ts';
import { failureJson, reportFailure, UsageFailure, type ObjectKind } from './failure.ts';
import { addLock } from './lock-command.ts';
import { addOperatorCommands } from './operator-commands.ts';
import { printableLine, printableLines, styled } from './output/text.ts';
import { LOCKCTL_VERSION } from './version.ts';

const LOCAL_ENSEMBLE = ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7103'];
/** A status request is local work for a server; longer means that it hangs. */
const STATUS_TIMEOUT_MS = 2_000;

/** Each screen lists locks: it should not be the ensemble's main work. */
const MIN_TOP_MS = 500;

/** Runs one command line. Resolves with the exit code, and never rejects: what went wrong is on standard error. */
export async function runLockctl(args: readonly string[], real: Environment): Promise<number> {
  const outside = speakingPlainly(real);
  const run = new CommandRun(outside);
  const given = args[0] === '--' ? args.slice(1) : [...args];
  // Not an option of the program: it would be taken from commands that have one of that name.
  if (given[0] === '--version') {
    outside.writeOut(`${LOCKCTL_VERSION}\n`);
    return EXIT_OK;
  }
  const json = asksForJson(given);
  const dashes = given.indexOf('--');
  if (dashes >= 0) run.behindDashes = given.length - dashes - 1;
  const program = buildProgram(run, outside, json);
  try {
    await program.parseAsync(given, { from: 'user' });
    return run.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    const report = reportFailure(error, run.object);
    outside.writeError(json ? `${failureJson(report, error)}\n` : `${styled('alarm', 'lockctl:')} ${report.message}\n`);
    return report.exitCode;
  }
}

/** Looked for before anything is parsed, which may fail. What is behind "--" is the command's own. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

/** Nothing that is written as text acts on a terminal or hides in it, wherever it came from. Bytes are the reader's own affair. */
function speakingPlainly(real: Environment): Environment {
  const { variables, label, outputIsTerminal, errorsAreOnTerminal } = real;
  // https://no-color.org, and terminals that say that they know none.
  const plain = (variables['NO_COLOR'] ?? '') !== '' || variables['TERM'] === 'dumb';
  const [colours, colourfulErrors] = [outputIsTerminal && !plain, errorsAreOnTerminal && !plain];
  return {
    variables,
    label,
    outputIsTerminal,
    errorsAreOnTerminal,
    writeOut: (content) => real.writeOut(typeof content === 'string' ? printableLines(content, colours) : content),
    writeError: (text) => real.writeError(printableLines(text, colourfulErrors)),
    clearScreen: () => real.clearScreen(),
    readInput: () => real.readInput(),
    readFile: (path) => real.readFile(path),
    nowMs: () => real.nowMs(),
    elapsedMs: () => real.elapsedMs(),
    fetch: (url, options) => real.fetch(url, options),
    connect: (request) => real.connect(request),
    connectOperator: (request) => real.connectOperator(request),
    startCommand: (options) => real.startCommand(options),
    onSignal: (listener) => real.onSignal(listener),
    after: (delayMs, callback) => real.after(delayMs, callback),
  };
}

export function buildProgram(run: CommandRun, outside: Environment, json = false): Command {
  const program = new Command('lockctl')
    .description('Looks at a Holdfast ensemble, and runs commands under its locks.')
    .addOption(
      new Option('--servers <host:port,…>', 'the servers of the ensemble (or HOLDFAST_SERVERS)')
        .argParser(parseServers)
        .default(LOCAL_ENSEMBLE, 'the local ensemble'),
    )
    .option('--json', 'print one JSON document instead of text', false)
    .addOption(
      new Option('--timeout <duration>', 'limit of connecting and of each answer')
        .argParser(parseDuration)
        .default(10_000, '10s'),
    )
    .addHelpText('after', '\nlockctl --version prints the version. See also: lockctl completion --help')
    .configureOutput({
      writeOut: (text) => outside.writeOut(text),
      writeErr: (text) => outside.writeError(text),
      outputError: (text, write) => write(usageError(text, json)),
    })
    .exitOverride();
  program.hook('preAction', (_program, command) => {
    run.object = objectOf(command);
    applyServersVariable(program, outside);
  });
  addStatus(program, outside);
  addTop(program, run, outside);
  addLock(program, run, outside);
  addNodeWrites(program, run, outside);
  addWatch(program, run, outside);
  addOperatorCommands(program, run, outside);
  addBench(program, run, outside);
  addCompletion(program, outside);
  return program;
}

/** What a command is about, so that advice fits. */
function objectOf(command: Command): ObjectKind | undefined {
  const names = [command.name(), command.parent?.name() ?? ''];
  if (names.includes('member') || names.includes('transfer')) return 'member';
  if (names.includes('session')) return 'session';
  if (['lock', 'show', 'release'].some((name) => names.includes(name))) return 'lock';
  return ['ls', 'get', 'stat', 'delete', 'create', 'set', 'txn', 'watch'].includes(command.name()) ? 'node' : undefined;
}

/** What commander says of a command line, in one line. */
function usageError(text: string, json: boolean): string {
  const message = printableLine(
    text
      .replace(/^error: /, '')
      .trim()
      .replaceAll(/\s*\n\s*/g, ' '),
  );
  if (json) return `${failureJson({ message, exitCode: EXIT_USAGE })}\n`;
  return `${styled('alarm', 'lockctl:')} ${message}\n(see: lockctl --help)\n`;
}

function applyServersVariable(program: Command, outside: Environment): void {
  const variable = outside.variables['HOLDFAST_SERVERS'];
  if (program.getOptionValueSource('servers') !== 'default' || variable === undefined || variable === '') return;
  try {
    program.setOptionValue('servers', parseServers(variable));
  } catch (error) {
    throw new UsageFailure(`HOLDFAST_SERVERS: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function addStatus(program: Command, outside: Environment): void {
  program
    .command('status')
    .description('servers, roles, terms, indexes, lag; exits 1 when none answers or none knows a leader')
    .action(async () => {
      const { servers, json, timeout } = program.opts<GlobalOptions>();
      await showStatus(servers, Math.min(timeout, STATUS_TIMEOUT_MS), json, outside);
    });
}

interface TopFlags {
  readonly interval: number;
}

function addTop(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('top')
    .description('servers and the locks for which most wait, on one screen, until it is interrupted')
    .addOption(
      new Option('--interval <duration>', 'how long each screen stands').argParser(parseDuration).default(2_000, '2s'),
    )
    .action(async ({ interval }: TopFlags) => {
      const globals = program.opts<GlobalOptions>();
      const statusTimeoutMs = Math.min(globals.timeout, STATUS_TIMEOUT_MS);
      await runTop(globals, { intervalMs: Math.max(interval, MIN_TOP_MS), statusTimeoutMs }, run, outside);
    });
}

interface BenchFlags {
  readonly clients: number;
  readonly time: number;
}

function addBench(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('bench')
    .description('makes load with locks and a node of its own, and prints how much of it is done in a second')
    .addOption(
      new Option('--clients <count>', 'sessions that work at the same time')
        .argParser(parseCount(1, MAX_BENCH_CLIENTS))
        .default(DEFAULT_BENCH_CLIENTS),
    )
    .addOption(
      new Option('--time <duration>', 'of each of the four kinds of work')
        .argParser(parseDuration)
        .default(DEFAULT_BENCH_MS, '3s'),
    )
    .addHelpText('after', '\nWhoever uses the ensemble meanwhile shares it with this load.')
    .action(async ({ clients, time }: BenchFlags) => {
      if (time < 1 || time > MAX_BENCH_MS)
        throw new UsageFailure(`--time must be from 1ms to ${MAX_BENCH_MS / 1_000}s`);
      const globals = program.opts<GlobalOptions>();
      const name = `lockctl-bench-${outside.nowMs()}-${Math.floor(Math.random() * 1e6)}`;
      await run.withSessions(globals, clients, (all) => runBench(all, { forMs: time, name }, globals.json, outside));
    });
}

interface CreateOptions {
  readonly sequential: boolean;
  readonly container: boolean;
  readonly ttl?: number;
}

const TXN_HELP = `
An operation is one of these; what is in brackets may be left out:
  {"op":"check","path":"/a"[,"version":3]}
  {"op":"create","path":"/a"[,"data":"text"|null][,"base64":"…"][,"sequential":true][,"container":true][,"ttl":"10s"]}
  {"op":"set","path":"/a"[,"data":"text"|null][,"base64":"…"][,"version":3]}
  {"op":"remove","path":"/a"[,"version":3]}`;

interface WatchOptions {
  readonly recursive: boolean;
  readonly from?: number;
}

function addWatch(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('watch')
    .description('prints a line for each change of a node as it happens, until it is interrupted')
    .argument('<path>', 'of the node, whether it exists or not')
    .option('-r, --recursive', 'every node below it as well', false)
    .option('--from <index>', 'what has happened since that index, too', parseIndex)
    .action(async (path: string, { recursive, from }: WatchOptions) => {
      const globals = program.opts<GlobalOptions>();
      await run.withSession(globals, async (client) => {
        run.exitCode = await watchNode(client, { path, recursive, from }, globals.json, outside);
      });
    });
}

function addNodeWrites(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('create')
    .description('creates a node that outlives this program, and prints its path')
    .argument('<path>', 'of the node; its parent must exist')
    .argument('[value]', 'its data; "-" reads standard input; without it the node is empty')
    .option('--sequential', 'append a number that rises with every child', false)
    .option('--container', 'remove it some time after its last child has gone', false)
    .option('--ttl <duration>', 'remove it when it had no children and no change for so long', parseTtl)
    .action(async (path: string, value: string | undefined, { ttl, ...kind }: CreateOptions) => {
      const globals = program.opts<GlobalOptions>();
      const node = { path, value, ...kind, ...(ttl === undefined ? {} : { ttlMs: ttl }) };
      await run.withSession(globals, (client) => createNode(client, node, globals.json, outside));
    });
  program
    .command('txn')
    .description('does all operations of a file on nodes, or none of them')
    .argument('<file>', 'a JSON array of operations, or one a line; "-" reads standard input')
    .addHelpText('after', TXN_HELP)
    .action(async (file: string) => {
      const globals = program.opts<GlobalOptions>();
      const operations = await readTransaction(file, outside);
      await run.withSession(globals, (client) => runTransaction(client, operations, globals.json, outside));
    });
  program
    .command('set')
    .description('replaces the data of a node and prints its new version')
    .argument('<path>', 'of the node')
    .argument('<value>', 'its data; "-" reads standard input')
    .option('--version <n>', 'only if the node has this version', parseVersion)
    .action(async (path: string, value: string, { version }: { readonly version?: number }) => {
      const globals = program.opts<GlobalOptions>();
      await run.withSession(globals, (client) => setNode(client, { path, value, version }, globals.json, outside));
    });
}
