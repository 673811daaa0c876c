/**
 * The commands of lockd for a data directory whose server is not running, as they are typed. What may lose acknowledged commands has to
 * be allowed by a flag that says so; without it such a command only prints what it would do.
 */

import type { Command } from 'commander';
import { clusterIdProblem, memberList, type NamedMember } from '../settings/cluster-names.ts';
import { UsageError } from '../settings/settings.ts';

export type OfflineCommand =
  | { readonly type: 'inspect'; readonly data: string; readonly json: boolean }
  | { readonly type: 'lift-vote-ban'; readonly data: string; readonly acceptLoss: boolean }
  | ({ readonly type: 'recover' } & RecoverOptions);
export interface RecoverOptions {
  readonly data: string;
  /** Where the data directories of the new cluster go. */
  readonly to: string;
  /** The new cluster's servers; undefined for the one server whose directory this is. */
  readonly members: readonly NamedMember[] | undefined;
  /** Undefined for a new name after the old one. */
  readonly clusterId: string | undefined;
  /** The first entry that is given up, with all behind it; undefined for the whole log. */
  readonly stopBefore?: number | undefined;
  /** No token is to be as low as it. */
  readonly above: number;
  /** Of a log segment of the new cluster's directories. @default 64 MiB */
  readonly segmentBytes?: number;
  readonly acceptLoss: boolean;
}

export type OfflineCommandOf<Type extends OfflineCommand['type']> = Extract<OfflineCommand, { type: Type }>;

/** What allows it. */
export const ACCEPT_LOSS = '--accept-lost-commands';
/** Begins without an entry that nobody can apply, and everything behind it. */
export const STOP_BEFORE = '--stop-before';
const ACCEPT_LOSS_HELP = 'allow that acknowledged commands are lost';

interface Flags {
  readonly data?: string;
  readonly json?: boolean;
  readonly acceptLostCommands?: boolean;
  readonly to?: string;
  readonly cluster?: string;
  readonly clusterId?: string;
  readonly above?: string;
  readonly stopBefore?: string;
}

export function addOfflineCommands(program: Command, found: (command: OfflineCommand) => void): void {
  program
    .command('inspect')
    .description('print what a data directory holds, without changing it; the server must not be running')
    .option('--data <directory>', 'the data directory')
    .option('--json', 'print JSON')
    .action((_options: unknown, command: Command) => {
      const { json = false } = command.optsWithGlobals<Flags>();
      found({ type: 'inspect', data: dataOf(command), json });
    });
  program
    .command('lift-vote-ban')
    .description('let a server vote that has lost acknowledged log; the server must not be running')
    .option('--data <directory>', 'the data directory')
    .option(ACCEPT_LOSS, ACCEPT_LOSS_HELP)
    .action((_options: unknown, command: Command) => {
      const { acceptLostCommands: acceptLoss = false } = command.optsWithGlobals<Flags>();
      found({ type: 'lift-vote-ban', data: dataOf(command), acceptLoss });
    });
  program
    .command('recover')
    .description(
      'begin a new cluster with the state of one server, when a majority is lost; the server must not be running',
    )
    .option('--data <directory>', 'the data directory of the server that is left')
    .option('--to <directory>', "where the new cluster's data directories are made; empty or new")
    .option('--cluster <1=host:port,…>', 'peer addresses of the new servers (default: that server alone)')
    .option('--cluster-id <name>', 'the name of the new cluster (default: the old one with a random ending)')
    .option('--above <token>', 'all tokens are to be higher than this one, too (default: 0)')
    .option(`${STOP_BEFORE} <index>`, 'give up this entry, which no server can apply, and everything behind it')
    .option(ACCEPT_LOSS, ACCEPT_LOSS_HELP)
    .action((_options: unknown, command: Command) => found({ type: 'recover', ...recoverOptions(command) }));
}

function recoverOptions(command: Command): RecoverOptions {
  const {
    to,
    cluster,
    clusterId,
    above = '0',
    stopBefore,
    acceptLostCommands = false,
  } = command.optsWithGlobals<Flags>();
  if (to === undefined) throw new UsageError('recover needs --to <directory>, for what it makes');
  const members = cluster === undefined ? undefined : memberList(cluster, '--cluster');
  const problem = clusterId === undefined ? undefined : clusterIdProblem(clusterId);
  if (problem !== undefined) throw new UsageError(`--cluster-id "${clusterId}" ${problem}`);
  if (!/^\d{1,16}$/.test(above)) throw new UsageError(`--above "${above}" must be a token, a whole number`);
  if (!/^[1-9]\d{0,15}$/.test(stopBefore ?? '1')) {
    throw new UsageError(`${STOP_BEFORE} "${stopBefore}" must be the index of an entry, a whole number from 1 on`);
  }
  return {
    data: dataOf(command),
    to,
    members,
    clusterId,
    above: Number(above),
    stopBefore: stopBefore === undefined ? undefined : Number(stopBefore),
    acceptLoss: acceptLostCommands,
  };
}

function dataOf(command: Command): string {
  const { data } = command.optsWithGlobals<Flags>();
  if (data === undefined) throw new UsageError(`${command.name()} needs --data <directory>`);
  return data;
}
