/** How the programs of a live run are started: servers and store as they are built, on their hosts, with a log file each. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { GuardedProcess, programEntry } from '@holdfast/ensemble';
import { CONTAINER_CHECK_MS } from '../../../history/unused-nodes.ts';
import { plantedTogether } from '../../../patches/planted.ts';
import { GROUP, replicaHosts, STORE_HOST, serverHost, serverIds, type Plan } from '../../../plan/plan.ts';
import type { Hardware } from '../hardware/hardware.ts';
import type { LiveNetwork } from '../network/live-network.ts';
import type { ServerProgram } from '../versions/server-versions.ts';
import type { Running } from './machine.ts';
import { normalPriority } from './priority.ts';

export const CLIENT_PORT = 7100;
export const PEER_PORT = 7200;
export const STORE_PORT = 7400;
/** Where replicas listen for each other. */
export const REPLICA_PORT = 7500;
export const CLUSTER_ID = 'jepsen';

export interface ProgramOptions {
  readonly plan: Pick<Plan, 'servers' | 'replicas' | 'tuning' | 'snapshots'>;
  readonly network: LiveNetwork;
  /** Logs and data directories go there. */
  readonly directory: string;
  readonly hardware: Pick<Hardware, 'volumes' | 'clocks'>;
  /** Of servers and store, beside this process's own: for planted bugs. @default nothing */
  readonly environment?: NodeJS.ProcessEnv;
  /** What a server runs, when it is started now. */
  readonly programOf: (host: string) => ServerProgram;
}

export function logFile(directory: string, host: string): string {
  return join(directory, 'logs', `${host}.log`);
}

/** On its own disk, if it has one. */
export function dataDirectory(
  { directory, hardware }: Pick<ProgramOptions, 'directory' | 'hardware'>,
  host: string,
): string {
  const volume = hardware.volumes.get(host);
  return volume === undefined ? join(directory, 'data', host) : join(volume.path, 'data');
}

/** What goes before the command of a program on that host; it becomes the program. */
export function inside(
  { network, hardware }: Pick<ProgramOptions, 'network' | 'hardware'>,
  host: string,
): readonly string[] {
  const faked = Object.entries(hardware.clocks.get(host)?.environment() ?? {});
  // Set by env, so that only the program itself has other clocks.
  const clock = faked.length === 0 ? [] : ['env', ...faked.map(([name, value]) => `${name}=${value}`)];
  return [...network.inside(host), ...normalPriority(), ...clock];
}

/** Without what would configure a server of the one who runs this. */
function environmentOf({ environment, network }: ProgramOptions, host: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
  return network.environment(host, { ...Object.fromEntries(kept), ...environment });
}

/** @param log the name of its log file. @default its host's */
export function launchServer(id: number, options: ProgramOptions, log = serverHost(id)): Running {
  const { plan, network } = options;
  const host = serverHost(id);
  const peers = serverIds(plan).map((each) => `${each}=${network.address(serverHost(each), PEER_PORT)}`);
  const joins = id > plan.servers;
  const { tuning, snapshots } = plan;
  const ofSnapshots =
    snapshots === undefined
      ? []
      : [
          `--snapshot-log-bytes=${snapshots.logBytes}`,
          `--snapshot-trailing-bytes=${snapshots.trailingBytes}`,
          `--snapshot-bytes-per-second=${snapshots.bytesPerSecond}`,
        ];
  const args = [
    `--id=${id}`,
    `--cluster-id=${CLUSTER_ID}`,
    `--client=${network.address(host, CLIENT_PORT)}`,
    `--peer=${network.address(host, PEER_PORT)}`,
    `--data=${dataDirectory(options, host)}`,
    joins ? '--join' : `--cluster=${peers.join(',')}`,
    `--heartbeat-ms=${tuning.heartbeatMs}`,
    `--election-timeout-ms=${tuning.electionTimeoutMs}`,
    `--container-check-ms=${CONTAINER_CHECK_MS}`,
    ...ofSnapshots,
    // Hosts of their own have addresses that are not the loopback's; nobody else reaches them.
    ...(network.inside(host).length === 0 ? [] : ['--insecure']),
  ];
  const program = options.programOf(host);
  const environment = plantedTogether(options.environment ?? {}, program.environment);
  return launch(program.entry, { host, log }, args, { ...options, environment });
}

/** The command of a server that has a process already, with a log of its own. */
export function launchTwin(host: string, options: ProgramOptions): Running {
  // One that has joined has a number that the plan does not know.
  const id = Number(/^s(\d+)$/.exec(host)?.[1]);
  if (Number.isNaN(id)) throw new TypeError(`${host} is no server`);
  return launchServer(id, options, `${host}-again`);
}

export function launchStore(options: ProgramOptions): Running {
  const { network } = options;
  const insecure = network.inside(STORE_HOST).length === 0 ? [] : ['--insecure'];
  const listen = `--listen=${network.address(STORE_HOST, STORE_PORT)}`;
  const args = [listen, `--data=${dataDirectory(options, STORE_HOST)}`, ...insecure];
  return launch(programEntry('fenced-kvd'), { host: STORE_HOST, log: STORE_HOST }, args, options);
}

/** Short, so that a run sees many primaries. */
const REPLICA_SESSION_MS = 1_500;
const REMOVAL_MS = 600;

/** @param group `secretFile`: the same for all of them. `servers`: where those of the ensemble may be found now. */
export function launchReplica(
  host: string,
  { secretFile, servers }: { readonly secretFile: string; readonly servers: readonly string[] },
  options: ProgramOptions,
): Running {
  const { plan, network } = options;
  const hosts = replicaHosts(plan);
  const args = [
    `--listen=${network.address(host, STORE_PORT)}`,
    `--data=${dataDirectory(options, host)}`,
    `--ensemble=${servers.join(',')}`,
    `--replica-of=${GROUP}`,
    `--replica-id=${host}`,
    `--replicas=${hosts.map((each) => `${each}=${network.address(each, REPLICA_PORT)}`).join(',')}`,
    `--secret-file=${secretFile}`,
    `--initial-in-sync=${hosts.join(',')}`,
    `--session-timeout-ms=${REPLICA_SESSION_MS}`,
    `--removal-ms=${REMOVAL_MS}`,
    ...(network.inside(host).length === 0 ? [] : ['--insecure']),
  ];
  return launch(programEntry('fenced-kvd'), { host, log: host }, args, options);
}

function launch(
  entry: string,
  { host, log }: { readonly host: string; readonly log: string },
  args: readonly string[],
  options: ProgramOptions,
): Running {
  const { directory } = options;
  mkdirSync(join(directory, 'logs'), { recursive: true });
  mkdirSync(join(directory, 'data'), { recursive: true });
  const guarded = GuardedProcess.start({
    entry,
    args,
    logFile: logFile(directory, log),
    inside: inside(options, host),
    env: environmentOf(options, host),
  });
  return {
    pid: guarded.pid,
    exited: guarded.exited,
    kill: () => guarded.kill(),
    terminate: () => guarded.terminate(),
    pause: () => guarded.pause(),
    resume: () => guarded.resume(),
  };
}
