/**
 * What a server is told at its start: flags over `HOLDFAST_*` environment variables over a YAML file, all under the same names.
 * Promises that what it returns is complete and consistent; everything else is a UsageError that says what to change.
 */

import { STATE_LIMITS } from '@holdfast/state';
import { DEFAULT_SNAPSHOT_OPTIONS } from '@holdfast/raft';
import { CommanderError } from 'commander';
import { parse as parseYaml } from 'yaml';
import { addressProblem, hostOf, hostProblem, isLoopback, isWildcard } from './address.ts';
import { MAX_SERVER_ID, clusterIdProblem, memberList } from './cluster-names.ts';
import {
  DEFAULT_CONTAINER_CHECK_MS,
  DEFAULT_ELECTION_TIMEOUT_MS,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_WATCH_HISTORY_BYTES,
  MAX_CONNECTIONS,
  MAX_CONTAINER_CHECK_MS,
} from '../limits.ts';
import type { OfflineCommand } from '../offline/offline-commands.ts';
import { ALLOW_HOST, LOG_LEVELS, NAMES, commandLine, variableOf } from './command-line.ts';
import {
  UsageError,
  address,
  boolean,
  calledBy,
  integer,
  required,
  wrong,
  type Given,
  type Settings,
} from './settings.ts';

export interface ServerConfig {
  readonly id: number;
  readonly clusterId: string;
  readonly client: string;
  readonly peer: string;
  readonly advertiseClient: string | undefined;
  readonly advertisePeer: string | undefined;
  /** Further names under which clients and probes may ask for this server. */
  readonly allowHosts: readonly string[];
  readonly data: string;
  /** Empty for a server that joins. */
  readonly members: readonly { readonly id: number; readonly peerAddress: string }[];
  /** On an empty data directory: begins with no cluster of its own, and waits to be added to one. */
  readonly join: boolean;
  readonly insecure: boolean;
  readonly heartbeatMs: number;
  readonly electionTimeoutMs: number;
  readonly snapshotLogBytes: number;
  readonly snapshotTrailingBytes: number;
  readonly snapshotBytesPerSecond: number;
  /** Undefined: the default for other machines, and any number for this one. */
  readonly maxConnectionsPerAddress: number | undefined;
  readonly maxSessionsPerAddress: number | undefined;
  readonly containerCheckMs: number;
  readonly watchHistoryBytes: number;
  readonly logLevel: LogLevel;
  /** Where every step of consensus is traced. */
  readonly traceRaft: string | undefined;
}

type LogLevel = (typeof LOG_LEVELS)[number];

export { UsageError };

export type ParsedArguments =
  | { readonly type: 'serve'; readonly config: ServerConfig }
  | OfflineCommand
  /** --help or --version: print and end. */
  | { readonly type: 'print'; readonly text: string };

export interface ConfigSources {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** @throws when the file cannot be read. */
  readFile(path: string): string;
}

const MIB = 1024 * 1024;
const MAX_SNAPSHOT_BYTES = 2 ** 40;
/** In memory. */
const MAX_WATCH_HISTORY_BYTES = 2 ** 36;

/** @throws UsageError */
export function parseArguments(sources: ConfigSources): ParsedArguments {
  let printed = '';
  let result: ParsedArguments | undefined;
  const program = commandLine(
    (flags) => {
      result = { type: 'serve', config: readConfig(flags, sources) };
    },
    (command) => {
      result = command;
    },
  );
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => {
        printed += text;
      },
      writeErr: () => {},
    });
  }
  try {
    program.parse([...sources.arguments], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { type: 'print', text: printed };
    const problem = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
    throw new UsageError(`${problem}; lockd --help lists the flags`, { cause: error });
  }
  return result ?? { type: 'print', text: printed };
}

function readConfig(flags: Readonly<Record<string, unknown>>, sources: ConfigSources): ServerConfig {
  const settings = new Map<string, Given>();
  const file = flags['config'] ?? sources.environment['HOLDFAST_CONFIG'];
  if (typeof file === 'string' && file !== '') {
    readFileInto(settings, file, flags['config'] === undefined ? 'HOLDFAST_CONFIG' : '--config', sources);
  }
  for (const name of NAMES) {
    const variable = variableOf(name);
    const fromEnvironment = sources.environment[variable];
    if (fromEnvironment !== undefined && fromEnvironment !== '') {
      settings.set(name, { text: fromEnvironment, as: variable });
    }
    const fromFlag = flags[name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof fromFlag === 'string' || fromFlag === true) {
      settings.set(name, { text: String(fromFlag), as: `--${name}` });
    }
  }
  return checkConfig(settings);
}

/** `giver`: what named the file. */
function readFileInto(settings: Map<string, Given>, path: string, giver: string, sources: ConfigSources): void {
  let content: unknown;
  try {
    content = parseYaml(sources.readFile(path), { logLevel: 'error' });
  } catch (error) {
    throw new UsageError(`${giver} ${path} cannot be used: ${firstLine(messageOf(error))}`, { cause: error });
  }
  if (content === null || typeof content !== 'object' || Array.isArray(content)) {
    throw new UsageError(`${giver} ${path} must be a YAML mapping such as "id: 1"`);
  }
  for (const [name, value] of Object.entries(content)) {
    if (!NAMES.includes(name)) {
      throw new UsageError(`${giver} ${path} has the unknown setting "${name}"; there are ${NAMES.join(', ')}`);
    }
    const as = `${path}: ${name}`;
    const textOf = name === 'cluster' ? clusterText : name === ALLOW_HOST ? listText : settingText;
    settings.set(name, { text: textOf(as, value), as });
  }
}

function settingText(as: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UsageError(`${as} must be a text, a number or a boolean`);
}

/** In YAML hosts may be a list, too. */
function listText(as: string, value: unknown): string {
  return Array.isArray(value) ? value.map((each) => settingText(as, each)).join(',') : settingText(as, value);
}

/** In YAML the members may be a mapping of numbers to addresses too. */
function clusterText(as: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new UsageError(`${as} must be a mapping of numbers to addresses, or a text such as 1=host:port,2=host:port`);
  }
  return Object.entries(value)
    .map(([id, address]) => `${id}=${settingText(`${as}: ${id}`, address)}`)
    .join(',');
}

function checkConfig(settings: Settings): ServerConfig {
  const id = integer(settings, 'id', 1, MAX_SERVER_ID);
  const clusterId = required(settings, 'cluster-id');
  const clusterProblem = clusterIdProblem(clusterId);
  if (clusterProblem !== undefined) throw wrong(settings, 'cluster-id', clusterProblem);
  const client = address(settings, 'client', 'listen');
  const peer = address(settings, 'peer', 'listen');
  const insecure = boolean(settings, 'insecure');
  const join = boolean(settings, 'join');
  if (!insecure) {
    refuseOpenListening(settings, 'client');
    refuseOpenListening(settings, 'peer');
  }
  const heartbeatMs = integer(settings, 'heartbeat-ms', 10, 60_000, DEFAULT_HEARTBEAT_MS);
  const electionTimeoutMs = integer(settings, 'election-timeout-ms', 50, 600_000, DEFAULT_ELECTION_TIMEOUT_MS);
  if (electionTimeoutMs < 3 * heartbeatMs) {
    throw new UsageError(
      `${calledBy(settings, 'election-timeout-ms')} ${electionTimeoutMs} must be at least three times ${calledBy(settings, 'heartbeat-ms')} ${heartbeatMs}: one lost heartbeat must not depose a leader`,
    );
  }
  refuseWildcard(settings, 'client', 'advertise-client', 'clients reach this server');
  if (!settings.has('cluster')) refuseWildcard(settings, 'peer', 'advertise-peer', 'the other servers reach this one');
  const { snapshotLogBytes, snapshotTrailingBytes, snapshotBytesPerSecond } = DEFAULT_SNAPSHOT_OPTIONS;
  return {
    id,
    clusterId,
    client,
    peer,
    advertiseClient: settings.has('advertise-client') ? address(settings, 'advertise-client', 'dial') : undefined,
    advertisePeer: settings.has('advertise-peer') ? address(settings, 'advertise-peer', 'dial') : undefined,
    allowHosts: hosts(settings, ALLOW_HOST),
    data: required(settings, 'data'),
    members: join ? noMembers(settings, peer) : members(settings, id, peer),
    join,
    insecure,
    heartbeatMs,
    electionTimeoutMs,
    snapshotLogBytes: integer(settings, 'snapshot-log-bytes', MIB, MAX_SNAPSHOT_BYTES, snapshotLogBytes),
    snapshotTrailingBytes: integer(settings, 'snapshot-trailing-bytes', 0, MAX_SNAPSHOT_BYTES, snapshotTrailingBytes),
    snapshotBytesPerSecond: integer(
      settings,
      'snapshot-bytes-per-second',
      MIB,
      MAX_SNAPSHOT_BYTES,
      snapshotBytesPerSecond,
    ),
    maxConnectionsPerAddress: settings.has('max-connections-per-address')
      ? integer(settings, 'max-connections-per-address', 1, MAX_CONNECTIONS)
      : undefined,
    maxSessionsPerAddress: settings.has('max-sessions-per-address')
      ? integer(settings, 'max-sessions-per-address', 1, STATE_LIMITS.maxSessions)
      : undefined,
    containerCheckMs: integer(settings, 'container-check-ms', 0, MAX_CONTAINER_CHECK_MS, DEFAULT_CONTAINER_CHECK_MS),
    watchHistoryBytes: integer(
      settings,
      'watch-history-bytes',
      0,
      MAX_WATCH_HISTORY_BYTES,
      DEFAULT_WATCH_HISTORY_BYTES,
    ),
    logLevel: logLevel(settings),
    traceRaft: settings.has('trace-raft') ? required(settings, 'trace-raft') : undefined,
  };
}

/** A server that joins learns from the log who the others are. */
function noMembers(settings: Settings, peer: string): ServerConfig['members'] {
  const join = calledBy(settings, 'join');
  if (settings.has('cluster')) {
    throw new UsageError(
      `${join} and ${calledBy(settings, 'cluster')} contradict each other: a server that joins a cluster that runs is sent its ` +
        `members by them, one that begins a new cluster names them; leave out one of the two`,
    );
  }
  const problem = addressProblem(peer, 'dial');
  if (problem !== undefined && !settings.has('advertise-peer')) {
    throw new UsageError(
      `${calledBy(settings, 'peer')} ${peer} ${problem}: the others must know it; or give --advertise-peer`,
    );
  }
  return [];
}

function members(settings: Settings, id: number, peer: string): ServerConfig['members'] {
  const advertised = settings.has('advertise-peer') ? address(settings, 'advertise-peer', 'dial') : undefined;
  const text = settings.get('cluster')?.text;
  if (text === undefined) return [{ id, peerAddress: advertised ?? peer }];
  const cluster = calledBy(settings, 'cluster');
  const list = memberList(text, cluster);
  const own = list.find((member) => member.id === id);
  if (own === undefined) throw new UsageError(`${cluster} must name this server too: add ${id}=${advertised ?? peer}`);
  if (advertised !== undefined && advertised !== own.peerAddress) {
    throw new UsageError(
      `${calledBy(settings, 'advertise-peer')} ${advertised} and ${cluster} ${id}=${own.peerAddress} must be the same`,
    );
  }
  return list;
}

/** What a server says of itself is where others dial it; every address of a machine is nowhere. */
function refuseWildcard(settings: Settings, listen: string, advertise: string, what: string): void {
  const text = required(settings, listen);
  if (!isWildcard(hostOf(text)) || settings.has(advertise)) return;
  throw new UsageError(
    `${calledBy(settings, listen)} ${text} listens on every address of this machine, and nobody can dial that: ` +
      `add --${advertise} host:port, where ${what}`,
  );
}

function hosts(settings: Settings, name: string): readonly string[] {
  const given = settings.get(name)?.text ?? '';
  const list = given === '' ? [] : given.split(',').map((host) => host.trim());
  for (const host of list) {
    const problem = hostProblem(host);
    if (problem !== undefined) throw new UsageError(`${calledBy(settings, name)}: "${host}" ${problem}`);
  }
  return list;
}

function refuseOpenListening(settings: Settings, name: string): void {
  const text = required(settings, name);
  if (isLoopback(hostOf(text))) return;
  throw new UsageError(
    `${calledBy(settings, name)} ${text} can be reached from other machines, and nothing checks who connects: ` +
      'listen on 127.0.0.1, or add --insecure if the network itself keeps strangers out',
  );
}

function logLevel(settings: Settings): LogLevel {
  const text = settings.get('log-level')?.text ?? 'info';
  const level = LOG_LEVELS.find((each) => each === text);
  if (level === undefined) throw wrong(settings, 'log-level', `must be one of ${LOG_LEVELS.join(', ')}`);
  return level;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Parsers show the place on further ones. */
function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').replace(/:$/, '');
}
