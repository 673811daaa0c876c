/**
 * One server of a simulated ensemble and what a service manager does for it: starts it, starts it again when it has ended for a reason
 * that a fault explains, and leaves it down for good when only an operator could help. One that was removed is started once more and
 * must end again; one that has lost its disk must be refused. Every other end is the run's failure.
 */

import { ExpelledError, serverId } from '@holdfast/raft';
import { ExitCode, exitCodeOf, LockServer, type LockServerOptions, type ServerObserver } from '@holdfast/lockd';
import type { Runtime } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';
import { CONTAINER_CHECK_MS } from '../../history/unused-nodes.ts';
import { serverHost, serverIds, type SnapshotTuning } from '../../plan/plan.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import { usesLatestVersion } from '../../workloads/index.ts';
import { addResumes, NO_RESUMES, WATCH_HISTORY_BYTES, type WatchResumes } from './watch-resumes.ts';

/** What leaders let gather: proposals that waited, and how often that ended because all had come or because the time was up. */
export interface BatchCounts {
  readonly proposalsBatched: number;
  readonly batchesComplete: number;
  readonly batchesLate: number;
}

export const NO_BATCHES: BatchCounts = { proposalsBatched: 0, batchesComplete: 0, batchesLate: 0 };

export function addBatches(sum: BatchCounts, counts: BatchCounts): BatchCounts {
  return {
    proposalsBatched: sum.proposalsBatched + counts.proposalsBatched,
    batchesComplete: sum.batchesComplete + counts.batchesComplete,
    batchesLate: sum.batchesLate + counts.batchesLate,
  };
}

export interface ServerHostEvents {
  readonly observer: Partial<ServerObserver>;
  /** The process is gone. */
  down(): void;
  /** Whether the ensemble has removed it. */
  removed(): boolean;
  /** Calls back when a service manager would start the process again. */
  restartLater(boot: () => void): void;
  unexpected(error: unknown): void;
}

export const CLUSTER_ID = 'simulated';
const CLIENT_PORT = 7100;
const PEER_PORT = 7200;
const DATA_DIRECTORY = '/data';
/** Where clients use commands of the latest state version: faults seldom let all members be connected for as long as in production. */
const STATE_UPGRADE_CHECKS = 1;

export function clientAddress(id: number): string {
  return `${serverHost(id)}:${CLIENT_PORT}`;
}

export function peerAddress(id: number): string {
  return `${serverHost(id)}:${PEER_PORT}`;
}

function snapshotOptions(tuning: SnapshotTuning): Pick<LockServerOptions, 'snapshots' | 'snapshotChunkBytes'> {
  return {
    snapshotChunkBytes: tuning.chunkBytes,
    snapshots: {
      snapshotLogBytes: tuning.logBytes,
      snapshotTrailingBytes: tuning.trailingBytes,
      snapshotSliceBytes: tuning.sliceBytes,
      snapshotBytesPerSecond: tuning.bytesPerSecond,
    },
  };
}

export class ServerHost {
  readonly id: number;
  readonly #host: SimHost;
  readonly #scenario: Scenario;
  readonly #events: ServerHostEvents;
  #server: LockServer | undefined;
  /** Counts the starts, so that what an earlier one says late changes nothing. */
  #boots = 0;
  /** The start that was asked to stop last. */
  #stoppingBoot = 0;
  /** A fault has been placed on its disk that may end it. */
  diskFaulted = false;
  /** A bit of its log was flipped: it may end at the damage, and start again under a ban on voting. */
  bitFlipped = false;
  /** It was: an operator would have to act. */
  damaged = false;
  /** Its disk was replaced by an empty one. */
  diskLost = false;
  readonly #joins: boolean;
  #begun: boolean;
  /** The ensemble has no place for it any more, and has told it so. */
  #expelled = false;
  #removals = 0;
  /** Another process runs on its machine until it starts. */
  #lent = false;
  /** Of its processes that have ended. */
  #batches = NO_BATCHES;
  #resumes = NO_RESUMES;

  constructor(id: number, host: SimHost, scenario: Scenario, events: ServerHostEvents) {
    this.id = id;
    this.#host = host;
    this.#scenario = scenario;
    this.#events = events;
    this.#joins = id > scenario.servers;
    this.#begun = !this.#joins;
  }

  get host(): SimHost {
    return this.#host;
  }

  /** Undefined while it starts, and when it is down. */
  get server(): LockServer | undefined {
    return this.#server;
  }

  /** Of all its processes. */
  get batches(): BatchCounts {
    return this.#server === undefined ? this.#batches : addBatches(this.#batches, this.#server.counters);
  }

  get resumes(): WatchResumes {
    return this.#server === undefined ? this.#resumes : addResumes(this.#resumes, this.#server.counters);
  }

  /** Undefined unless it runs and waits to be added. */
  get joinSecret(): string | undefined {
    return this.#server?.joinSecret;
  }

  /** It joins, and has not got the log of an ensemble as far as anybody can see. */
  get mayWait(): boolean {
    return this.#joins && !this.#expelled && (this.#server === undefined || this.#server.joinSecret !== undefined);
  }

  /** Another number once its process has ended, however it did. */
  get life(): number {
    return this.#boots;
  }

  /** It runs, and was not told to stop. */
  get serves(): boolean {
    return this.#server !== undefined && this.#host.state === 'up' && this.#stoppingBoot !== this.#boots;
  }

  get startable(): boolean {
    const free = this.#host.state === 'down' || this.#lent;
    return this.#begun && free && !this.damaged && !this.#expelled;
  }

  /** Its machine runs another process. */
  get lent(): boolean {
    return this.#lent;
  }

  /** It was started at least once, or is to run from the beginning. */
  get begun(): boolean {
    return this.#begun;
  }

  /** It has ended because the ensemble goes on without it. */
  get expelled(): boolean {
    return this.#expelled;
  }

  /** The first start of a server that joins. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (this.#host.state === 'down') this.#host.restart();
    this.start();
  }

  /** The machine gets an empty disk, and its service manager does not know. */
  loseDisk(): void {
    if (this.#host.state !== 'down') this.#host.crash();
    this.died();
    this.diskLost = true;
    this.#host.disk.replace();
    this.boot();
  }

  boot(): void {
    if (!this.startable) return;
    if (this.#lent) this.#host.kill();
    this.#lent = false;
    this.#host.restart();
    this.start();
  }

  /** For another process while the server does not run, and does not have to yet; undefined when it does. */
  lend(): Runtime | undefined {
    if (this.#lent || (this.#boots > 0 && this.#host.state !== 'down')) return undefined;
    if (this.#host.state !== 'down') this.#host.kill();
    this.#host.restart();
    this.#lent = true;
    return this.#host.runtime;
  }

  /** Starts the process on a host that is up. */
  start(): void {
    this.#boots += 1;
    const boot = this.#boots;
    const { servers, tuning, snapshots, replication } = this.#scenario;
    const options = {
      id: this.id,
      clusterId: CLUSTER_ID,
      clientListen: clientAddress(this.id),
      peerListen: peerAddress(this.id),
      dataDirectory: DATA_DIRECTORY,
      members: this.#joins ? [] : serverIds({ servers }).map((id) => ({ id, peerAddress: peerAddress(id) })),
      join: this.#joins,
      watchHistoryBytes: WATCH_HISTORY_BYTES,
      containerCheckMs: CONTAINER_CHECK_MS,
      ...(usesLatestVersion(this.#scenario.clients) ? { stateUpgradeChecks: STATE_UPGRADE_CHECKS } : {}),
      ...tuning,
      ...(snapshots === undefined ? {} : snapshotOptions(snapshots)),
      ...(replication === undefined ? {} : { replication }),
    };
    const ended = (error: unknown): void => {
      if (boot === this.#boots) this.#ended(error);
    };
    const refused = (error: unknown): void => {
      // What a start does not repair an operator has to look at.
      if (boot === this.#boots && this.#findsDamage(error)) this.damaged = true;
      ended(error);
    };
    const removed = (): void => {
      if (boot === this.#boots) this.#leave(boot, ended);
    };
    LockServer.start(options, this.#host.runtime, { observer: this.#events.observer, fatal: ended, removed }).then(
      (server) => {
        if (boot === this.#boots) this.#server = server;
      },
      refused,
    );
  }

  /** Its process serves its clients until they are elsewhere. */
  #leave(boot: number, ended: (error: unknown) => void): void {
    if (this.#stoppingBoot === boot) return;
    this.#stoppingBoot = boot;
    const last = (): void => ended(new ExpelledError('MEMBER_REMOVED', serverId(this.id)));
    if (this.#server === undefined) last();
    else this.#server.stop().then(last, ended);
  }

  /** After the host's crash or kill. */
  died(): void {
    this.#lent = false;
    this.#boots += 1;
    this.#batches = this.batches;
    this.#resumes = this.resumes;
    this.#server = undefined;
    this.#events.down();
  }

  /** SIGTERM. `then` runs when the process has ended; never, when it crashes first. */
  stop(then: () => void): void {
    const server = this.#server;
    if (server === undefined || this.#host.state !== 'up' || this.#stoppingBoot === this.#boots) return;
    const boot = this.#boots;
    this.#stoppingBoot = boot;
    const end = (error?: unknown): void => {
      if (boot !== this.#boots) return;
      if (error !== undefined && !this.#explained(error)) this.#events.unexpected(error);
      this.#host.kill();
      this.died();
      then();
    };
    server.stop().then(() => end(), end);
  }

  #ended(error: unknown): void {
    if (!this.#findsDamage(error) && !this.#explained(error) && !this.#isExpelled(error))
      this.#events.unexpected(error);
    this.#exit();
    if (!this.damaged && !this.#expelled) this.#events.restartLater(() => this.boot());
  }

  #findsDamage(error: unknown): boolean {
    return this.bitFlipped && exitCodeOf(error) === ExitCode.damagedData;
  }

  /** Whoever starts it all the same once more gets the same answer. */
  #isExpelled(error: unknown): boolean {
    const code = exitCodeOf(error);
    if (code === ExitCode.removed && this.#events.removed()) {
      this.#removals += 1;
      this.#expelled = this.diskLost || this.#removals > 1;
      return true;
    }
    if (code !== ExitCode.lostDisk || !this.diskLost) return false;
    this.#expelled = true;
    return true;
  }

  #explained(error: unknown): boolean {
    return this.diskFaulted && exitCodeOf(error) === ExitCode.diskError;
  }

  /** Within a callback of the process itself, which ends with it. */
  #exit(): void {
    if (this.#host.state !== 'down') this.#host.kill();
    this.died();
  }
}
