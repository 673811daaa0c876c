/**
 * One lockd as a whole: its data directory, its log, its replica, its state and its listeners, opened in that order and closed
 * in the reverse one. Runs on any runtime; the process around it is main.ts's.
 */

import {
  Replica,
  DamagedSnapshotError,
  DEFAULT_SEGMENT_BYTES,
  openDataDirectory,
  openWriteAheadLog,
  serverId,
  type RaftConfig,
  type SnapshotCheck,
  type SnapshotOptions,
} from '@holdfast/raft';
import { MAX_FRAME_BYTES } from '@holdfast/protocol';
import { ListenError, patientDisk, type Address, type Listener, type Runtime } from '@holdfast/runtime';
import type { StateMachine, Versions } from '@holdfast/state';
import type { ServerCounters } from './counters.ts';
import { hostsOf } from './settings/address.ts';
import { DiskSpace } from './health/disk-space.ts';
import { createHttpHandler } from './http/http.ts';
import type { createMetrics } from './http/metrics.ts';
import { MetricsPage } from './http/metrics-page.ts';
import { WaitingToJoin } from './members/waiting-to-join.ts';
import {
  DEFAULT_ELECTION_TIMEOUT_MS,
  DEFAULT_HEARTBEAT_MS,
  DISK_RESUME_FACTOR,
  MAX_CONNECTIONS,
  MAX_CONNECTIONS_PER_ADDRESS,
  MAX_GREETING_BYTES,
  diskReserveBytes,
} from './limits.ts';
import { LockMachine } from './machine/lock-machine.ts';
import type { ServerObserver } from './machine/server-observer.ts';
import { statusReport, type StatusReport } from './http/status-report.ts';

export interface LockServerOptions {
  /** From 1; never used for another server of the cluster. */
  readonly id: number;
  readonly clusterId: string;
  /** Where to listen; port 0 takes a free one. */
  readonly clientListen: Address;
  readonly peerListen: Address;
  /** Where clients reach this server. @default the listening address */
  readonly advertiseClient?: Address | undefined;
  /** Where the other servers reach this one. @default its address among the members, or the listening address */
  readonly advertisePeer?: Address | undefined;
  /** Further hosts that requests may name. @default none but its own */
  readonly allowHosts?: readonly string[];
  readonly dataDirectory: string;
  /** All servers with their peer addresses, this one included; counts only while the data directory is empty. */
  readonly members: readonly { readonly id: number; readonly peerAddress: Address }[];
  /** While the data directory is empty, without `members`: waits to be added to a cluster that runs. @default false */
  readonly join?: boolean;
  /** Milliseconds between a leader's heartbeats. @default 100 */
  readonly heartbeatMs?: number;
  /** Followers stand for election after once to twice this time without a leader. @default 1000 */
  readonly electionTimeoutMs?: number;
  /** What may be under way to one peer: messages of entries without an answer, and bytes of the entries in each. @default as of Raft */
  readonly replication?: Partial<Pick<RaftConfig, 'maxInflightMessages' | 'maxAppendBytes'>>;
  /** Bytes of a log segment. @default 64 MiB */
  readonly segmentBytes?: number;
  /** When snapshots are taken, what stays behind them, how fast they travel. */
  readonly snapshots?: Partial<SnapshotOptions>;
  /** Of a checked piece of a snapshot file. @default 256 KiB */
  readonly snapshotChunkBytes?: number;
  /** With less room than this on the disk new writes are refused. @default 128 MiB and a segment */
  readonly diskReserveBytes?: number;
  /** Sockets of clients, upgraded or not. @default MAX_CONNECTIONS */
  readonly maxConnections?: number;
  /** From one address, loopback addresses included. @default MAX_CONNECTIONS_PER_ADDRESS, and any number from a loopback address */
  readonly maxConnectionsPerAddress?: number | undefined;
  /** Made by clients of one address. @default MAX_SESSIONS_PER_ADDRESS, and any number from a loopback address */
  readonly maxSessionsPerAddress?: number | undefined;
  /** How long a container is empty before it goes, where this server leads. @default 60_000 */
  readonly containerCheckMs?: number | undefined;
  /**
   * How often in a row, a second apart, all members must offer the next state version before this server raises it. A smaller number leaves
   * less time to take an upgrade back. @default 10
   */
  readonly stateUpgradeChecks?: number | undefined;
  /**
   * By which entries are applied. Others than the default ones are for an ensemble whose data no other program will open: every server must
   * have the same, for all time. @default VERSIONS of the state machine
   */
  readonly versions?: Versions | undefined;
  /** Of the changes that are remembered for watches of clients that come back; 0: none are. @default DEFAULT_WATCH_HISTORY_BYTES */
  readonly watchHistoryBytes?: number | undefined;
  /** The server has the process to itself: its metrics tell of both. @default false */
  readonly processMetrics?: boolean;
}

export interface LockServerHooks {
  /** The server has failed and serves no longer; the process must end. Called at most once. */
  fatal(error: unknown): void;
  /** The ensemble goes on without this server, which still serves its clients: stop it, and end the process. @default fatal */
  removed?(): void;
  /** This server waits to be added, by that command; again whenever it changes. @default only logged */
  waitsToBeAdded?(command: string): void;
  /** `createMetrics`, which makes what `GET /metrics` answers. Given, so that programs without that page need not load it. @default none */
  readonly metrics?: typeof createMetrics;
  /** @default nobody */
  readonly observer?: Partial<ServerObserver>;
}

/** How long a stop waits for clients to read their goodbye. */
const GOODBYE_WAIT_MS = 500;

interface Parts {
  readonly machine: LockMachine;
  readonly replica: Replica;
  readonly clientListener: Listener;
  readonly waiting: WaitingToJoin;
}

type Closer = () => Promise<void>;

export class LockServer {
  readonly #options: LockServerOptions;
  readonly #runtime: Runtime;
  readonly #parts: Parts;
  readonly #closers: readonly Closer[];
  #stopped: Promise<void> | undefined;

  private constructor(options: LockServerOptions, runtime: Runtime, parts: Parts, closers: readonly Closer[]) {
    this.#options = options;
    this.#runtime = runtime;
    this.#parts = parts;
    this.#closers = closers;
  }

  /**
   * Opens everything; on resolve it serves, though perhaps without a leader yet. Rejects, with everything closed again, with
   * DataDirectoryInUseError, DataDirectoryError, IdentityMismatchError, DamagedLogError, DiskError or ListenError.
   */
  static async start(options: LockServerOptions, runtime: Runtime, hooks: LockServerHooks): Promise<LockServer> {
    try {
      // Its newest snapshot is read once, by what restores it.
      return await LockServer.#open(options, runtime, hooks, 'ends');
    } catch (error) {
      if (!(error instanceof DamagedSnapshotError)) throw error;
      const { file, reason } = error;
      runtime.logger.error(
        { file, reason },
        'the newest snapshot is damaged; starting again, to see what else there is',
      );
      return LockServer.#open(options, runtime, hooks, 'whole');
    }
  }

  static async #open(
    options: LockServerOptions,
    runtime: Runtime,
    hooks: LockServerHooks,
    snapshotCheck: SnapshotCheck,
  ): Promise<LockServer> {
    const closers: Closer[] = [];
    try {
      const parts = await openParts({ ...options, snapshotCheck }, runtime, hooks, closers);
      return new LockServer(options, runtime, parts, closers);
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  /** Where it listens, with the real ports. */
  get clientAddress(): Address {
    return this.#parts.clientListener.address;
  }

  get peerAddress(): Address {
    return this.#parts.replica.peerAddress;
  }

  /** By which it can be added now; undefined unless it waits for that. */
  get joinSecret(): string | undefined {
    return this.#parts.waiting.secret;
  }

  /** What it has applied; only to be read. */
  get state(): StateMachine {
    return this.#parts.machine.state;
  }

  /** Since its start; only to be read. */
  get counters(): Readonly<ServerCounters> {
    return this.#parts.machine.counters;
  }

  /** No write to the log has ended for an election timeout. */
  get diskStalls(): boolean {
    return this.#parts.replica.diskStalls;
  }

  /** Connections with peers that were closed because nothing was heard on them any more. */
  get peerSilences(): number {
    return this.#parts.replica.silences;
  }

  get status(): StatusReport {
    return statusReport(this.#options, this.#parts.machine);
  }

  /**
   * Proposes that the session ends, as when nobody has renewed it for its timeout: for tests of applications, which then need not wait.
   * False, without effect, for a server that does not lead and for a session that it does not know.
   */
  expireSession(session: number): boolean {
    return this.#parts.machine.expireSession(session);
  }

  /** Transfers leadership if it has it, moves the clients to other servers and closes everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { machine, replica } = this.#parts;
    const { clock, logger } = this.#runtime;
    logger.info({ role: machine.status.role }, 'stopping');
    machine.beginStop();
    // While the server can still forward: what is under way ends, and nobody loses a connection before having another.
    await replica.transferBeforeStop();
    await machine.moveClients();
    await closeAll(this.#closers, async () => {
      machine.disconnectClients();
      await machine.connections.drained(GOODBYE_WAIT_MS, clock);
    });
  }
}

/** Every part that needs closing leaves its closer, so that a failure half way leaves nothing open. */
async function openParts(
  options: LockServerOptions & { readonly snapshotCheck: SnapshotCheck },
  runtime: Runtime,
  hooks: LockServerHooks,
  closers: Closer[],
): Promise<Parts> {
  const { id, clusterId, segmentBytes, snapshotChunkBytes, snapshotCheck, snapshots = {}, advertiseClient } = options;
  const { heartbeatMs = DEFAULT_HEARTBEAT_MS, electionTimeoutMs = DEFAULT_ELECTION_TIMEOUT_MS } = options;
  const { clock, random, network, logger } = runtime;
  const disk = patientDisk(runtime.disk, { clock, logger, patienceMs: electionTimeoutMs });
  const { maxSessionsPerAddress, containerCheckMs, stateUpgradeChecks, watchHistoryBytes, versions } = options;
  const identity = { clusterId, serverId: serverId(id) };
  const segments = segmentBytes === undefined ? {} : { segmentBytes };
  const chunks = snapshotChunkBytes === undefined ? {} : { snapshotChunkBytes };
  const given = options.members.map((member) => ({ ...member, id: serverId(member.id) }));

  const directory = await openDataDirectory(
    { ...identity, ...segments, path: options.dataDirectory, members: given, joins: options.join ?? false },
    { disk, random, logger },
  );
  closers.push(() => directory.release());
  const { incarnation, members } = directory;
  const store = await openWriteAheadLog(
    {
      ...identity,
      ...segments,
      ...chunks,
      snapshotCheck,
      incarnation,
      directory: directory.logDirectory,
      features: directory.features,
      repair: { founders: members.map((member) => member.id) },
    },
    { disk, logger },
  );
  const closeStore = (): Promise<void> => store.close();
  closers.push(closeStore);

  const diskSpace = openDiskSpace(options, runtime);
  closers.push(async () => diskSpace.stop());
  const machine = new LockMachine(
    {
      serverId: serverId(id),
      clusterId,
      electionTimeoutMs,
      maxSessionsPerAddress,
      containerCheckMs,
      stateUpgradeChecks,
      versions,
      founder: options.join !== true && store.durable.lastIndex === 0,
      watchHistoryBytes,
    },
    {
      clock,
      random,
      logger,
      disk: diskSpace,
      observer: hooks.observer,
      fatal: (error) => hooks.fatal(error),
      ...(hooks.removed === undefined ? {} : { removed: () => hooks.removed?.() }),
    },
  );
  closers.push(async () => machine.beginStop());
  let started: Replica | undefined;
  let listening: Listener | undefined;
  const ofProcess = options.processMetrics ?? false;
  const { metrics } = hooks;
  const page =
    metrics &&
    new MetricsPage(
      (renderings) => metrics({ id, ofProcess, renderings, load: () => listening?.load }, machine, () => started),
      clock,
    );
  const clientListener = await naming('--client', listenForClients(options, runtime, machine, page));
  closers.push(() => clientListener.close());
  listening = clientListener;

  const waiting = new WaitingToJoin({
    serverId: id,
    incarnation,
    clock,
    logger,
    waits: () => started !== undefined && started.peers.length === 0,
    peerAddress: () => options.advertisePeer ?? replica.peerAddress,
    announced: (command) => hooks.waitsToBeAdded?.(command),
  });
  closers.push(async () => waiting.stop());
  const replica: Replica = new Replica(
    {
      id: serverId(id),
      clusterId,
      incarnation,
      joinSecrets: () => waiting.secrets,
      members,
      peerListen: options.peerListen,
      peerAddress: options.advertisePeer,
      clientAddress: advertiseClient ?? clientListener.address,
      tuning: { ...options.replication, heartbeatMs, electionTimeoutMs, diskStallMs: electionTimeoutMs },
      snapshots,
    },
    store,
    machine,
    { clock, network, random, logger, observer: hooks.observer },
  );
  // The replica closes the store itself, after the write that is under way.
  closers.splice(closers.indexOf(closeStore), 1);
  closers.push(() => replica.stop());
  started = replica;
  machine.bind(replica);
  await diskSpace.start(() => {
    store.allowSpare(!diskSpace.tight);
    machine.diskGuard.checked();
  });
  await naming('--peer', replica.start());
  waiting.announce();
  return { machine, replica, clientListener, waiting };
}

function openDiskSpace(options: LockServerOptions, { disk, clock, logger }: Runtime): DiskSpace {
  const { dataDirectory: path, segmentBytes = DEFAULT_SEGMENT_BYTES } = options;
  const reserveBytes = options.diskReserveBytes ?? diskReserveBytes(segmentBytes);
  const resumeBytes = Math.ceil(reserveBytes * DISK_RESUME_FACTOR);
  return new DiskSpace({ path, reserveBytes, resumeBytes }, { disk, clock, logger });
}

function listenForClients(
  options: LockServerOptions,
  { network }: Runtime,
  machine: LockMachine,
  metrics: MetricsPage | undefined,
): Promise<Listener> {
  const { id, clusterId, clientListen, advertiseClient, allowHosts = [] } = options;
  const { maxConnections = MAX_CONNECTIONS, maxConnectionsPerAddress } = options;
  return network.listen({
    address: clientListen,
    maxFrameBytes: MAX_FRAME_BYTES,
    maxGreetingBytes: MAX_GREETING_BYTES,
    allowedHosts: hostsOf(clientListen, advertiseClient ?? clientListen, allowHosts),
    maxSockets: maxConnections,
    maxSocketsPerAddress: maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS,
    maxSocketsPerLoopbackAddress: maxConnectionsPerAddress ?? Infinity,
    onConnection: (connection) => machine.accept(connection),
    http: createHttpHandler({ id, clusterId }, machine, metrics),
  });
}

/** Says which of the two addresses it is that cannot be listened on. */
async function naming<T>(setting: string, listening: Promise<T>): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    throw new ListenError(error.code, `${setting}: ${error.message}`, { cause: error });
  }
}

/** In reverse order, all of them, whatever fails; rejects with the first failure. `afterFirst` runs when the last opened is closed. */
async function closeAll(closers: readonly Closer[], afterFirst?: Closer): Promise<void> {
  const [first, ...rest] = closers.toReversed();
  const failures: unknown[] = [];
  for (const close of [first, afterFirst, ...rest]) {
    try {
      await close?.();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
