/**
 * A simulated world: hosts, the network between them and virtual time, all decided by one seed. The same seed and the same
 * program give the same run, which `traceHash` proves. Programs must take time, randomness, network and disk from their host's
 * `runtime` only; real asynchronous work (a child process, a thread pool) is not waited for. Nothing moves outside `run`: a test
 * awaits what a host promises with `world.complete(promise)`, never alone.
 */

import { silentLogger } from '../logger.ts';
import type { Logger } from '../logger.ts';
import type { Random } from '../random.ts';
import { SimHost } from './host.ts';
import { SimNetwork } from './network/network.ts';
import { randomStream } from './prng.ts';
import type { Scheduled } from './process.ts';
import { Scheduler, toMs, toTicks } from './scheduler.ts';
import type { RunOptions } from './scheduler.ts';
import { Struck } from './struck.ts';
import type { StruckFault } from './struck.ts';
import { EventKinds } from './trace.ts';

/** What wall clocks show when virtual time is 0: 2026-01-01T00:00:00Z. */
const WALL_START_MS = 1_767_225_600_000;

export interface SimWorldOptions {
  readonly seed: number | string;
  /** @default the logger that says nothing */
  readonly logger?: Logger;
  /**
   * Code of the real world runs among the programs': an application, and its tests. It may use real time, files and sockets, and a
   * rejection that it leaves unhandled is the process's affair. Other worlds may run at the same time.
   * @default false
   */
  readonly open?: boolean;
}

export interface HostOptions {
  /**
   * What the wall clock shows beyond virtual time.
   * @default 0
   */
  readonly wallOffsetMs?: number;
}

export class SimWorld {
  readonly seed: number | string;
  readonly network: SimNetwork;
  readonly #scheduler: Scheduler;
  readonly #struck = new Struck();
  readonly #hosts = new Map<string, SimHost>();
  readonly #logger: Logger;
  readonly #kinds = new EventKinds('world');
  #scheduled: () => void = () => {};

  constructor(options: SimWorldOptions) {
    this.seed = options.seed;
    this.#scheduler = new Scheduler({ open: options.open ?? false, scheduled: () => this.#scheduled() });
    this.#logger = options.logger ?? silentLogger;
    this.network = new SimNetwork({
      scheduler: this.#scheduler,
      struck: this.#struck,
      randomFor: (name) => randomStream(this.seed, name),
    });
  }

  /** Virtual milliseconds since the beginning. */
  get nowMs(): number {
    return toMs(this.#scheduler.nowTicks);
  }

  /** When the next thing is to happen, in virtual milliseconds; undefined when nothing is left. */
  get nextMs(): number | undefined {
    const { nextTicks } = this.#scheduler;
    return nextTicks === undefined ? undefined : toMs(nextTicks);
  }

  /** `scheduled` is called whenever something is to happen that was asked for between two runs. Set once. */
  onScheduled(scheduled: () => void): void {
    this.#scheduled = scheduled;
  }

  /** A running hash over (time, sequence, kind) of all events and over all bytes sent and written: equal for two runs that took the same path. */
  get traceHash(): string {
    return this.#scheduler.traceHash;
  }

  /** How often each fault has taken effect on a program, 0 included. */
  get struck(): ReadonlyMap<StruckFault, number> {
    return this.#struck.counts;
  }

  /** The host of that name, made and started at the first call. The name is its network address; options count at the first call. */
  host(name: string, options: HostOptions = {}): SimHost {
    let host = this.#hosts.get(name);
    if (host === undefined) {
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw new TypeError(`"${name}" cannot be the name of a host`);
      host = new SimHost(name, {
        scheduler: this.#scheduler,
        struck: this.#struck,
        network: this.network,
        logger: this.#logger,
        wallMs: WALL_START_MS + this.nowMs + (options.wallOffsetMs ?? 0),
        randomFor: (stream) => randomStream(this.seed, stream),
      });
      this.#hosts.set(name, host);
      this.network.addHost(host);
    }
    return host;
  }

  /** A fresh copy of the world's stream of that name: what tests and fault plans draw from, apart from what programs draw. */
  random(name: string): Random {
    return randomStream(this.seed, `world/${name}`);
  }

  /** Does something to the world (a fault, a heal) after a time that belongs to no host. */
  after(delayMs: number, action: () => void): Scheduled {
    const event = this.#scheduler.schedule(toTicks(delayMs), this.#kinds.of('after'), { run: action });
    return { cancel: () => this.#scheduler.cancel(event) };
  }

  /**
   * Lets virtual time pass. Rejects with the first error that a callback throws or that a promise leaves unhandled, and with
   * {@link SimTimeoutError} when `until` does not come about.
   */
  run(options: RunOptions): Promise<void> {
    return this.#scheduler.run(options);
  }

  /** Runs until the promise is settled and gives its outcome. */
  async complete<T>(promise: Promise<T>, options: { readonly maxMs?: number } = {}): Promise<T> {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    await this.run({ ...options, until: () => settled });
    return promise;
  }
}
