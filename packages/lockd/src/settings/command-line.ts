/** What may be given to lockd, under which names: flags, environment variables, commands. */

import { DEFAULT_SNAPSHOT_OPTIONS } from '@holdfast/raft';
import { Command, Option } from 'commander';
import {
  DEFAULT_CONTAINER_CHECK_MS,
  DEFAULT_ELECTION_TIMEOUT_MS,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_WATCH_HISTORY_BYTES,
  MAX_CONNECTIONS_PER_ADDRESS,
  MAX_SESSIONS_PER_ADDRESS,
} from '../limits.ts';
import { addOfflineCommands, type OfflineCommand } from '../offline/offline-commands.ts';
import { LOCKD_VERSION } from '../version.ts';

interface Setting {
  readonly name: string;
  readonly value: string;
  readonly help: string;
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export const ALLOW_HOST = 'allow-host';

const SETTINGS: readonly Setting[] = [
  { name: 'id', value: '<number>', help: "this server's number, from 1; never used for another server of the cluster" },
  { name: 'cluster-id', value: '<name>', help: 'the name of the cluster; servers and clients of another are refused' },
  { name: 'client', value: '<host:port>', help: 'where to listen for clients, WebSocket and HTTP' },
  { name: 'peer', value: '<host:port>', help: 'where to listen for the other servers' },
  { name: 'advertise-client', value: '<host:port>', help: 'where clients reach this server (default: --client)' },
  { name: 'advertise-peer', value: '<host:port>', help: 'where the others reach this server (default: --peer)' },
  {
    name: ALLOW_HOST,
    value: '<name,…>',
    help: 'further names or addresses by which requests may ask for this server, of a load balancer say; may be repeated',
  },
  { name: 'data', value: '<directory>', help: 'the data directory; created when missing' },
  {
    name: 'cluster',
    value: '<1=host:port,…>',
    help: 'peer addresses of all servers, this one included; counts only while the data directory is empty (default: this server alone)',
  },
  {
    name: 'heartbeat-ms',
    value: '<ms>',
    help: `time between a leader's heartbeats (default: ${DEFAULT_HEARTBEAT_MS})`,
  },
  {
    name: 'election-timeout-ms',
    value: '<ms>',
    help: `once to twice this time without a leader the others elect one; at least three heartbeats, the same on all servers (default: ${DEFAULT_ELECTION_TIMEOUT_MS})`,
  },
  {
    name: 'snapshot-log-bytes',
    value: '<bytes>',
    help: `log after which a snapshot of the state is taken, and the log before it let go (default: ${DEFAULT_SNAPSHOT_OPTIONS.snapshotLogBytes})`,
  },
  {
    name: 'snapshot-trailing-bytes',
    value: '<bytes>',
    help: `log before a snapshot that stays, so that a server that lags a little needs no snapshot (default: ${DEFAULT_SNAPSHOT_OPTIONS.snapshotTrailingBytes})`,
  },
  {
    name: 'snapshot-bytes-per-second',
    value: '<bytes>',
    help: `how fast this server sends snapshots to others, all together (default: ${DEFAULT_SNAPSHOT_OPTIONS.snapshotBytesPerSecond})`,
  },
  {
    name: 'max-connections-per-address',
    value: '<number>',
    help: `client connections from one address, this machine's own included (default: ${MAX_CONNECTIONS_PER_ADDRESS}, and any number from this machine)`,
  },
  {
    name: 'max-sessions-per-address',
    value: '<number>',
    help: `sessions that clients of one address make here, this machine's own included (default: ${MAX_SESSIONS_PER_ADDRESS}, and any number from this machine)`,
  },
  {
    name: 'container-check-ms',
    value: '<ms>',
    help: `how long a container is empty before it is removed, where this server leads (default: ${DEFAULT_CONTAINER_CHECK_MS})`,
  },
  {
    name: 'watch-history-bytes',
    value: '<bytes>',
    help: `memory for the latest changes of nodes, from which watches of clients that come back go on; 0 for none (default: ${DEFAULT_WATCH_HISTORY_BYTES})`,
  },
  {
    name: 'trace-raft',
    value: '<file>',
    help: 'write every step of consensus to this file, for debugging (default: nothing is written)',
  },
  { name: 'log-level', value: '<level>', help: `${LOG_LEVELS.join(', ')} (default: info)` },
];
/** Flags without a value. */
const SWITCHES = {
  join: 'wait to be added to a cluster that runs, with the join secret that is printed; only while the data directory is empty',
  insecure: 'listen beyond this machine although nothing checks who connects',
} as const;
export const NAMES: readonly string[] = [...SETTINGS.map((setting) => setting.name), ...Object.keys(SWITCHES)];

/** `HOLDFAST_CLUSTER_ID` for `cluster-id`. */
export function variableOf(name: string): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** @param serve is called with the flags of a server that is to run */
export function commandLine(
  serve: (flags: Readonly<Record<string, unknown>>) => void,
  offline: (command: OfflineCommand) => void,
): Command {
  const program = new Command('lockd')
    .description('A server of a Holdfast lock ensemble.')
    .version(LOCKD_VERSION)
    .allowExcessArguments(false);
  for (const { name, value, help } of SETTINGS) {
    const option = new Option(`--${name} ${value}`, help);
    if (name === ALLOW_HOST)
      option.argParser((text, before?: string) => (before === undefined ? text : `${before},${text}`));
    program.addOption(option);
  }
  for (const [name, help] of Object.entries(SWITCHES)) program.option(`--${name}`, help);
  program
    .option('--config <file>', 'YAML with these settings under the same names')
    .addHelpText('after', `\nEvery setting can also be given as HOLDFAST_<NAME>, as in ${variableOf('cluster-id')}.`)
    .action(() => serve(program.opts()));
  addOfflineCommands(program, offline);
  return program;
}
