/** The command line: what there is, its options, and which command does it. */

import { Command, CommanderError, Option } from 'commander';

import { parseAddress, parseDuration, parseServerId, parseServers, parseSessionId, parseVersion } from './arguments.ts';
import { runUnderLock } from './commands/lock.ts';
import { listLocks, showLock } from './commands/locks.ts';
import { addMember, joinSecretOf, listMembers, promoteMember, removeMember } from './commands/members.ts';
import { createNode, deleteNode, getNode, listChildren, setNode, statNode } from './commands/nodes.ts';
import { closeSession, listSessions } from './commands/sessions.ts';
import { showStatus } from './commands/status.ts';
import { transferLeadership } from './commands/transfer.ts';
import type { EnsembleClient } from './ensemble-client.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK, EXIT_USAGE } from './exit-code.ts';
import { reportFailure, UsageFailure } from './failure.ts';
import { printableLines } from './text.ts';

const LOCAL_ENSEMBLE = ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7103'];
/** A status request is local work for a server; longer means that it hangs. */
const STATUS_TIMEOUT_MS = 2_000;

interface GlobalOptions {
  readonly servers: readonly string[];
  readonly json: boolean;
  readonly timeout: number;
}

/** Runs one command line. Resolves with the exit code, and never rejects: what went wrong is on standard error. */
export async function runLockctl(args: readonly string[], real: Environment): Promise<number> {
  const outside = speakingPlainly(real);
  const session = new CommandSession(outside);
  const program = buildProgram(session, outside);
  try {
    await program.parseAsync(args[0] === '--' ? args.slice(1) : [...args], { from: 'user' });
    return session.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    const { message, exitCode } = reportFailure(error);
    outside.writeError(`lockctl: ${message}\n`);
    return exitCode;
  }
}

/** Nothing that is written as text acts on a terminal or hides in it, wherever it came from. Bytes are the reader's own affair. */
function speakingPlainly(real: Environment): Environment {
  const { variables, label, outputIsTerminal } = real;
  return {
    variables,
    label,
    outputIsTerminal,
    writeOut: (content) => real.writeOut(typeof content === 'string' ? printableLines(content) : content),
    writeError: (text) => real.writeError(printableLines(text)),
    readInput: () => real.readInput(),
    nowMs: () => real.nowMs(),
    fetch: (url, options) => real.fetch(url, options),
    connect: (request) => real.connect(request),
    startCommand: (options) => real.startCommand(options),
    onSignal: (listener) => real.onSignal(listener),
  };
}

/** One run: connects when a command asks for it, and closes after it. */
class CommandSession {
  exitCode: number = EXIT_OK;
  readonly #outside: Environment;

  constructor(outside: Environment) {
    this.#outside = outside;
  }

  async withClient(
    globals: GlobalOptions,
    body: (client: EnsembleClient) => Promise<void>,
    sessionTimeoutMs?: number,
  ): Promise<void> {
    const client = await this.#outside.connect({
      servers: globals.servers,
      timeoutMs: globals.timeout,
      label: this.#outside.label,
      ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }),
    });
    try {
      await body(client);
    } finally {
      await client.close();
    }
  }
}

function buildProgram(session: CommandSession, outside: Environment): Command {
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
    .showHelpAfterError('(see: lockctl --help)')
    .configureOutput({
      writeOut: (text) => outside.writeOut(text),
      writeErr: (text) => outside.writeError(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'lockctl: ')),
    })
    .exitOverride();
  program.hook('preAction', () => applyServersVariable(program, outside));
  addStatus(program, outside);
  addLock(program, session, outside);
  addInspection(program, session, outside);
  addNodeReads(program, session, outside);
  addNodeWrites(program, session, outside);
  addTransfer(program, session, outside);
  addMembers(program, session, outside);
  return program;
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

interface LockOptions {
  readonly wait?: number;
  readonly mode: string;
  readonly sessionTimeout?: number;
}

function addLock(program: Command, session: CommandSession, outside: Environment): void {
  program
    .command('lock')
    .usage('NAME [options] -- CMD…')
    .description('runs CMD while holding the lock NAME, with HOLDFAST_LOCK and HOLDFAST_TOKEN in its environment')
    .argument('<name>', 'the lock')
    .argument('<command...>', 'after "--": what to run')
    .option(
      '--wait <duration>',
      'give up after this long, with exit code 75; 0 does not queue (default: no limit)',
      parseDuration,
    )
    .option('--mode <mode>', 'exclusive is the only mode of this version', 'exclusive')
    .option(
      '--session-timeout <duration>',
      'how long the ensemble waits for a silent lockctl before it gives the lock to the next (default: 10s)',
      parseDuration,
    )
    .addHelpText('after', LOCK_HELP)
    .action(async (name: string, [command = '', ...args]: string[], options: LockOptions) => {
      if (options.mode !== 'exclusive') throw new UsageFailure(modeProblem(options.mode));
      const globals = program.opts<GlobalOptions>();
      const request = { name, command, args, waitMs: options.wait };
      await session.withClient(
        globals,
        async (client) => {
          session.exitCode = await runUnderLock(client, request, outside);
        },
        options.sessionTimeout,
      );
    });
}

const LOCK_HELP = `
Exits with CMD's own code, 75 when the lock was not acquired in time, 76 when it was lost while CMD ran. CMD has a process group
of its own, which gets SIGTERM and then SIGKILL when the lock is lost. A process can be too slow to die: let the resource
check HOLDFAST_TOKEN. Signals to lockctl are passed on to CMD.`;

function modeProblem(mode: string): string {
  return mode === 'shared'
    ? '--mode shared: this version has exclusive locks only; leave --mode out'
    : `--mode ${mode}: there is no such mode; leave --mode out for an exclusive lock`;
}

function addInspection(program: Command, session: CommandSession, outside: Environment): void {
  program
    .command('locks')
    .description('every lock that is held: holder, token, since, waiters')
    .argument('[prefix]', 'only locks whose name begins so')
    .action(async (prefix: string | undefined) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => listLocks(client, prefix, globals.json, outside));
    });
  program
    .command('show')
    .description('one lock: holder and queue in order, with sessions, labels and ages')
    .argument('<name>', 'the lock')
    .action(async (name: string) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => showLock(client, name, globals.json, outside));
    });
  program
    .command('sessions')
    .description('every session, with what it holds')
    .action(async () => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => listSessions(client, globals.json, outside));
    });
  program
    .command('session')
    .description('acts on one session')
    .command('close')
    .description('ends a session by force: its locks go to the next in their queues, its ephemeral nodes are deleted')
    .argument('<id>', 'its number', parseSessionId)
    .action(async (id: number) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => closeSession(client, id, globals.json, outside));
    });
}

function addTransfer(program: Command, session: CommandSession, outside: Environment): void {
  program
    .command('transfer')
    .description('hands leadership over; requests that come meanwhile wait and are answered afterwards')
    .argument('[server]', 'who is to lead (default: the best of the other servers)', parseServerId)
    .action(async (server: number | undefined) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => transferLeadership(client, server, globals.json, outside));
    });
}

interface AddOptions {
  readonly observer: boolean;
  readonly joinSecret?: string;
}

function addMembers(program: Command, session: CommandSession, outside: Environment): void {
  program
    .command('members')
    .description('who belongs to the ensemble: voters, learners, observers')
    .action(async () => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => listMembers(client, globals.json, outside));
    });
  const member = program.command('member').description('changes who belongs to the ensemble, one server at a time');
  member
    .command('add')
    .description('adds a server that was started with --join; it votes once it has caught up')
    .argument('<id>', 'its number, which no server of the cluster ever had', parseServerId)
    .argument('<peer-address>', 'where the other servers reach it', parseAddress)
    .option(
      '--join-secret <secret>',
      'what it prints while it waits; - reads it from standard input (or HOLDFAST_JOIN_SECRET)',
    )
    .option('--observer', 'it stays without a vote, and serves sessions and reads', false)
    .action(async (server: number, peerAddress: string, { observer, joinSecret: given }: AddOptions) => {
      const globals = program.opts<GlobalOptions>();
      const joinSecret = await joinSecretOf(given, outside);
      const added = { server, peerAddress, observer, joinSecret };
      await session.withClient(globals, (client) => addMember(client, added, globals.json, outside));
    });
  const changes = [
    { name: 'promote', description: 'gives an observer, or a learner that was too slow, a vote', run: promoteMember },
    { name: 'remove', description: 'removes a server for good; its number is never used again', run: removeMember },
  ] as const;
  for (const { name, description, run } of changes) {
    member
      .command(name)
      .description(description)
      .argument('<id>', 'its number', parseServerId)
      .action(async (server: number) => {
        const globals = program.opts<GlobalOptions>();
        await session.withClient(globals, (client) => run(client, server, globals.json, outside));
      });
  }
}

function addNodeReads(program: Command, session: CommandSession, outside: Environment): void {
  const reads = [
    { name: 'ls', description: 'names of the children of a node', run: listChildren },
    { name: 'get', description: 'data of a node, byte for byte', run: getNode },
    { name: 'stat', description: 'what is known of a node beside its data', run: statNode },
  ] as const;
  for (const { name, description, run } of reads) {
    program
      .command(name)
      .description(description)
      .argument('<path>', 'of the node, beginning with "/"')
      .action(async (path: string) => {
        const globals = program.opts<GlobalOptions>();
        await session.withClient(globals, (client) => run(client, path, globals.json, outside));
      });
  }
}

function addNodeWrites(program: Command, session: CommandSession, outside: Environment): void {
  program
    .command('create')
    .description('creates a persistent node and prints its path')
    .argument('<path>', 'of the node; its parent must exist')
    .argument('[value]', 'its data; "-" reads standard input; without it the node is empty')
    .option('--sequential', 'append a number that rises with every child', false)
    .action(async (path: string, value: string | undefined, { sequential }: { readonly sequential: boolean }) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) =>
        createNode(client, { path, value, sequential }, globals.json, outside),
      );
    });
  program
    .command('set')
    .description('replaces the data of a node and prints its new version')
    .argument('<path>', 'of the node')
    .argument('<value>', 'its data; "-" reads standard input')
    .option('--version <n>', 'only if the node has this version', parseVersion)
    .action(async (path: string, value: string, { version }: { readonly version?: number }) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => setNode(client, { path, value, version }, globals.json, outside));
    });
  program
    .command('delete')
    .description('deletes a node that has no children')
    .argument('<path>', 'of the node')
    .option('--version <n>', 'only if the node has this version', parseVersion)
    .action(async (path: string, { version }: { readonly version?: number }) => {
      const globals = program.opts<GlobalOptions>();
      await session.withClient(globals, (client) => deleteNode(client, { path, version }, globals.json, outside));
    });
}
