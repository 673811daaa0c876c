/**
 * One server of a simulated ensemble and what a service manager does for it: starts it, starts it again when it has ended for a reason
 * that a fault explains, and leaves it down for good when only an operator could help. Every other end is the run's failure.
 */

import { ExitCode, exitCodeOf, LockServer, type LockServerOptions, type ServerObserver } from '@holdfast/lockd';
import type { SimHost } from '@holdfast/runtime/sim';
import { serverHost, serverIds, type Scenario, type SnapshotTuning } from './scenario.ts';

export interface ServerHostEvents {
  readonly observer: Partial<ServerObserver>;
  /** The process is gone. */
  down(): void;
  /** Calls back when a service manager would start the process again. */
  restartLater(boot: () => void): void;
  unexpected(error: unknown): void;
}

const CLIENT_PORT = 7100;
const PEER_PORT = 7200;
const DATA_DIRECTORY = '/data';

export function clientAddress(id: number): string {
  return `${serverHost(id)}:${CLIENT_PORT}`;
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
  /** The start that was told to stop last. */
  #stoppingBoot = 0;
  /** A fault has been placed on its disk that may end it. */
  diskFaulted = false;
  /** A bit of its log was flipped: it may end at the damage, and start again under a ban on voting. */
  bitFlipped = false;
  /** It was: an operator would have to act. */
  damaged = false;

  constructor(id: number, host: SimHost, scenario: Scenario, events: ServerHostEvents) {
    this.id = id;
    this.#host = host;
    this.#scenario = scenario;
    this.#events = events;
  }

  get host(): SimHost {
    return this.#host;
  }

  /** Undefined while it starts, and when it is down. */
  get server(): LockServer | undefined {
    return this.#server;
  }

  /** It runs, and was not told to stop. */
  get serves(): boolean {
    return this.#server !== undefined && this.#host.state === 'up' && this.#stoppingBoot !== this.#boots;
  }

  get startable(): boolean {
    return this.#host.state === 'down' && !this.damaged;
  }

  boot(): void {
    if (!this.startable) return;
    this.#host.restart();
    this.start();
  }

  /** Starts the process on a host that is up. */
  start(): void {
    this.#boots += 1;
    const boot = this.#boots;
    const { servers, tuning, snapshots } = this.#scenario;
    const name = serverHost(this.id);
    const options = {
      id: this.id,
      clusterId: 'simulated',
      clientListen: clientAddress(this.id),
      peerListen: `${name}:${PEER_PORT}`,
      dataDirectory: DATA_DIRECTORY,
      members: serverIds({ servers }).map((id) => ({ id, peerAddress: `${serverHost(id)}:${PEER_PORT}` })),
      ...tuning,
      ...(snapshots === undefined ? {} : snapshotOptions(snapshots)),
    };
    const ended = (error: unknown): void => {
      if (boot === this.#boots) this.#ended(error);
    };
    const refused = (error: unknown): void => {
      // What a start does not repair an operator has to look at.
      if (boot === this.#boots && this.#findsDamage(error)) this.damaged = true;
      ended(error);
    };
    LockServer.start(options, this.#host.runtime, { observer: this.#events.observer, fatal: ended }).then((server) => {
      if (boot === this.#boots) this.#server = server;
    }, refused);
  }

  /** After the host's crash or kill. */
  died(): void {
    this.#boots += 1;
    this.#server = undefined;
    this.#events.down();
  }

  /** SIGTERM. `then` runs when the process has ended; never, when it crashes first. */
  stop(then: () => void): void {
    const server = this.#server;
    if (server === undefined || this.#host.state !== 'up') return;
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
    if (!this.#findsDamage(error) && !this.#explained(error)) this.#events.unexpected(error);
    this.#exit();
    if (!this.damaged) this.#events.restartLater(() => this.boot());
  }

  #findsDamage(error: unknown): boolean {
    return this.bitFlipped && exitCodeOf(error) === ExitCode.damagedData;
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
