/** The commands that need no session: what an operator looks at, and what gives something back. They are there in an outage, too. */

import { Option, type Command } from 'commander';

import type { AnswerSources } from './answer-sources.ts';
import { parseAddress, parseDuration, parseIndex, parseServerId, parseSessionId, parseVersion } from './arguments.ts';
import type { CommandRun, GlobalOptions } from './command-run.ts';
import { listDeadlocks } from './commands/deadlocks.ts';
import { listLocks, showLock } from './commands/locks.ts';
import { addMember, joinSecretOf, listMembers, promoteMember, removeMember } from './commands/members.ts';
import { deleteNode, getNode, listChildren, statNode } from './commands/nodes.ts';
import { askForHold, endDelay, revokeHold } from './commands/release.ts';
import { closeSession, listSessions } from './commands/sessions.ts';
import { transferLeadership } from './commands/transfer.ts';
import type { OperatorClient } from './ensemble-client.ts';
import type { Environment } from './environment.ts';
import { UsageFailure } from './failure.ts';

interface ReadFlags {
  readonly stale: boolean;
}

type ReadNode = (
  client: OperatorClient,
  path: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
) => Promise<void>;

export function addOperatorCommands(program: Command, run: CommandRun, outside: Environment): void {
  addListings(program, run, outside);
  addNodeCommands(program, run, outside);
  addRelease(program, run, outside);
  addEndDelay(program, run, outside);
  addSessionClose(program, run, outside);
  addTransfer(program, run, outside);
  addMemberChanges(program, run, outside);
}

/** A command that reads: by default what a quorum stands for. */
function addRead(program: Command, name: string, description: string): Command {
  const stale = 'answered by any server that can be reached, from what it has, leader or not: it may be out of date';
  return program.command(name).description(description).option('--stale', stale, false);
}

function addListings(program: Command, run: CommandRun, outside: Environment): void {
  addRead(program, 'locks', 'every lock that is held: holder, token, since, waiters')
    .argument('[prefix]', 'only locks whose name begins so')
    .action(async (prefix: string | undefined, { stale }: ReadFlags) => {
      const globals = program.opts<GlobalOptions>();
      await run.reading(globals, stale, (client, sources) => listLocks(client, prefix, globals.json, sources, outside));
    });
  addRead(program, 'show', 'one lock: holder and queue in order, with sessions, labels and ages')
    .argument('<name>', 'the lock')
    .action(async (name: string, { stale }: ReadFlags) => {
      const globals = program.opts<GlobalOptions>();
      await run.reading(globals, stale, (client, sources) => showLock(client, name, globals.json, sources, outside));
    });
  addRead(program, 'deadlocks', 'sessions that wait for each other: what each holds and waits for').action(
    async ({ stale }: ReadFlags) => {
      const globals = program.opts<GlobalOptions>();
      await run.reading(globals, stale, (client, sources) => listDeadlocks(client, globals.json, sources, outside));
    },
  );
  addRead(program, 'sessions', 'every session, with what it holds').action(async ({ stale }: ReadFlags) => {
    const globals = program.opts<GlobalOptions>();
    await run.reading(globals, stale, (client, sources) => listSessions(client, globals.json, sources, outside));
  });
  addRead(program, 'members', 'who belongs to the ensemble: voters, learners, observers').action(
    async ({ stale }: ReadFlags) => {
      const globals = program.opts<GlobalOptions>();
      await run.reading(globals, stale, (client, sources) => listMembers(client, globals.json, sources, outside));
    },
  );
}

function addNodeCommands(program: Command, run: CommandRun, outside: Environment): void {
  const addNodeRead = (name: string, description: string, read: ReadNode): void => {
    addRead(program, name, description)
      .argument('<path>', 'of the node, beginning with "/"')
      .action(async (path: string, { stale }: ReadFlags) => {
        const globals = program.opts<GlobalOptions>();
        await run.reading(globals, stale, (client, sources) => read(client, path, globals.json, sources, outside));
      });
  };
  addNodeRead('ls', 'names of the children of a node', listChildren);
  addNodeRead('get', 'data of a node, byte for byte', getNode);
  addNodeRead('stat', 'what is known of a node beside its data', statNode);
  program
    .command('delete')
    .description('deletes a node that has no children')
    .argument('<path>', 'of the node')
    .option('--version <n>', 'only if the node has this version', parseVersion)
    .action(async (path: string, { version }: { readonly version?: number }) => {
      const globals = program.opts<GlobalOptions>();
      await run.asOperator(globals, (client) => deleteNode(client, { path, version }, globals.json, outside));
    });
}

interface ReleaseFlags {
  readonly token: number;
  readonly hold?: number;
  readonly ask: boolean;
  readonly within?: number;
  readonly then?: 'revoke' | 'leave';
}

/** How long a holder has that is asked. */
const RELEASE_WITHIN_MS = 30_000;

const RELEASE_HELP = `
With --ask the holder is told, and keeps the lock until it releases it: its SDK aborts held.releaseRequested. A later request takes the place of an
earlier one. Without --ask the lock is taken away at once.`;

function addRelease(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('release')
    .description('takes a lock away from who holds it under a token, or asks for it (--ask)')
    .argument('<name>', 'of the lock')
    .requiredOption('--token <n>', 'of the hold, as "lockctl show" has it: nobody else loses the lock', parseIndex)
    .option('--hold <n>', 'its acquire index, where several hold the lock under that token', parseIndex)
    .option('--ask', 'ask the holder to release it, instead of taking it away', false)
    .option('--within <duration>', 'how long the holder has that is asked (default: 30s)', parseDuration)
    .addOption(
      new Option('--then <policy>', 'what becomes of the lock then (default: leave)').choices(['revoke', 'leave']),
    )
    .addHelpText('after', RELEASE_HELP)
    .action(async (lock: string, { token, hold, ask, within, then }: ReleaseFlags) => {
      if (!ask && (within !== undefined || then !== undefined))
        throw new UsageFailure('--within and --then are for --ask alone');
      const globals = program.opts<GlobalOptions>();
      const asked = { lock, token, hold, withinMs: within ?? RELEASE_WITHIN_MS, atDeadline: then ?? 'leave' };
      await run.asOperator(globals, (client) =>
        ask ? askForHold(client, asked, globals.json, outside) : revokeHold(client, asked, globals.json, outside),
      );
    });
}

function addEndDelay(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('end-delay')
    .description('grants a lock before the delay is over that a lost holder had asked for')
    .argument('<name>', 'of the lock, as "lockctl locks" shows it')
    .action(async (lock: string) => {
      const globals = program.opts<GlobalOptions>();
      await run.asOperator(globals, (client) => endDelay(client, lock, globals.json, outside));
    });
}

function addSessionClose(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('session')
    .description('acts on one session')
    .command('close')
    .description('ends a session by force: its locks go to the next in their queues, its ephemeral nodes are deleted')
    .argument('<id>', 'its number', parseSessionId)
    .action(async (id: number) => {
      const globals = program.opts<GlobalOptions>();
      await run.asOperator(globals, (client) => closeSession(client, id, globals.json, outside));
    });
}

function addTransfer(program: Command, run: CommandRun, outside: Environment): void {
  program
    .command('transfer')
    .description('transfers leadership; requests that come meanwhile wait and are answered afterwards')
    .argument('[server]', 'who is to lead (default: the best of the other servers)', parseServerId)
    .action(async (server: number | undefined) => {
      const globals = program.opts<GlobalOptions>();
      await run.asOperator(globals, (client) => transferLeadership(client, server, globals.json, outside));
    });
}

interface AddOptions {
  readonly observer: boolean;
  readonly joinSecret?: string;
}

function addMemberChanges(program: Command, run: CommandRun, outside: Environment): void {
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
      await run.asOperator(globals, (client) => addMember(client, added, globals.json, outside));
    });
  const changes = [
    {
      name: 'promote',
      description: 'gives an observer, or a learner that was too slow, a vote',
      change: promoteMember,
    },
    { name: 'remove', description: 'removes a server for good; its number is never used again', change: removeMember },
  ] as const;
  for (const { name, description, change } of changes) {
    member
      .command(name)
      .description(description)
      .argument('<id>', 'its number', parseServerId)
      .action(async (server: number) => {
        const globals = program.opts<GlobalOptions>();
        await run.asOperator(globals, (client) => change(client, server, globals.json, outside));
      });
  }
}
