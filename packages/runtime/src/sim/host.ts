/**
 * A machine of a simulated world and the one process on it. The disk and the wall clock belong to the machine and outlive
 * the process; every start of the process is a new incarnation with a `Runtime` of its own, and nothing that an earlier
 * one has asked for fires or settles any more.
 */

import type { Runtime } from '../index.ts';
import type { Logger } from '../logger.ts';
import type { HttpTextResponse } from '../network/http.ts';
import type { Address } from '../network/address.ts';
import type { Random } from '../random.ts';
import { SimClock } from './clock.ts';
import { MachineClock } from './machine-clock.ts';
import type { Tear } from './disk/disk-content.ts';
import { SimDisk } from './disk/disk.ts';
import { httpRequest } from './network/http-request.ts';
import type { SimHttpRequest } from './network/http-request.ts';
import { FIRST_EPHEMERAL_PORT } from './network/network.ts';
import type { NetworkHost, SimListener, SimNetwork } from './network/network.ts';
import { diskOf } from './disk/process-disk.ts';
import { networkOf } from './network/process-network.ts';
import { SimProcess, type ProcessCosts } from './process.ts';
import type { Scheduler } from './scheduler.ts';
import type { Struck } from './struck.ts';

/** The monotonic clock of a process starts anywhere below this. */
const MAX_MONOTONIC_ORIGIN_MS = 1_000_000;

export interface HostServices {
  readonly scheduler: Scheduler;
  readonly struck: Struck;
  readonly network: SimNetwork;
  readonly logger: Logger;
  readonly wallMs: number;
  readonly randomFor: (name: string) => Random;
}

export interface CrashOptions {
  /**
   * What happens to what was not yet durable: nothing of it survives, all of it does, or any subset of the sectors of each
   * write, of the truncations, and any prefix of the changes of names in each directory.
   * @default 'none'
   */
  readonly tear?: Tear;
}

export class SimHost implements NetworkHost {
  readonly name: string;
  readonly disk: SimDisk;
  readonly listeners = new Map<number, SimListener>();
  nextDialPort = FIRST_EPHEMERAL_PORT;
  readonly #services: HostServices;
  readonly #machineClock: MachineClock;
  #incarnation = 0;
  #process: SimProcess;
  #clock: SimClock;
  #runtime: Runtime;

  constructor(name: string, services: HostServices) {
    this.name = name;
    this.#services = services;
    this.disk = new SimDisk(name, services);
    this.#machineClock = new MachineClock(services.scheduler, services.struck, services.wallMs);
    ({ process: this.#process, clock: this.#clock, runtime: this.#runtime } = this.#start());
  }

  get state(): 'up' | 'paused' | 'down' {
    if (!this.#process.alive) return 'down';
    return this.#process.paused ? 'paused' : 'up';
  }

  /** The outside world of the present incarnation. */
  get runtime(): Runtime {
    if (this.state === 'down') throw new Error(`host "${this.name}" is down; restart() it before using its runtime`);
    return this.#runtime;
  }

  /** How often the process was started, from 1. */
  get incarnation(): number {
    return this.#incarnation;
  }

  /**
   * Power failure: the process ends, and of the disk only what is durable is sure to survive. The network answers for the dead
   * process (dials are refused, connections reset); to have it silent as well, cut its links first.
   */
  crash(options: CrashOptions = {}): void {
    if (this.#process.alive) this.#services.struck.count('crash');
    this.#process.die();
    this.disk.powerFailure(options.tear ?? 'none');
  }

  /** SIGKILL: the process ends; the machine and what it has in its disk cache go on. */
  kill(): void {
    if (this.#process.alive) this.#services.struck.count('kill');
    this.#process.die();
  }

  /** Starts a new incarnation of a process that is down; whoever runs on it is started anew with the new `runtime`. */
  restart(): void {
    if (this.state !== 'down') throw new Error(`host "${this.name}" is running; crash() or kill() it before restart()`);
    this.#services.struck.count('restart');
    ({ process: this.#process, clock: this.#clock, runtime: this.#runtime } = this.#start());
  }

  /** What work takes the present incarnation from now on; nothing before that is said. */
  setCosts(costs: ProcessCosts): void {
    this.#process.costs = costs;
  }

  /** SIGSTOP: nothing reaches the process until `resume`; its kernel goes on accepting connections and bytes. */
  pause(): void {
    this.#process.pause();
  }

  /** SIGCONT: first all timers that are due, then what has arrived, then the check phase. */
  resume(): void {
    this.#process.resume();
  }

  /** Sets the wall clock forward, or back. */
  jumpWall(byMs: number): void {
    this.#machineClock.jumpWall(byMs);
  }

  /** Lets the monotonic clock run fast (1.01) or slow (0.99) from now on. */
  setClockRate(rate: number): void {
    this.#machineClock.setMonotonicRate(rate);
    this.#clock.rateChanged();
  }

  /** Lets the wall clock run fast or slow from now on, apart from the monotonic one. */
  setWallRate(rate: number): void {
    this.#machineClock.setWallRate(rate);
  }

  /** A plain HTTP request from this host, to itself or to another one. */
  request(address: Address, request: SimHttpRequest): Promise<HttpTextResponse> {
    return httpRequest(this.#process, this, this.#services.network, address, request);
  }

  #start() {
    const services = this.#services;
    this.#incarnation += 1;
    const process = new SimProcess(this.name, services.scheduler, services.struck);
    const streamName = `${this.name}/${this.#incarnation}`;
    const originMs = services.randomFor(`clock/${streamName}`).integer(MAX_MONOTONIC_ORIGIN_MS);
    const clock = new SimClock(process, this.#machineClock, originMs);
    const logger = services.logger.child({ host: this.name, incarnation: this.#incarnation });
    const runtime: Runtime = {
      clock,
      random: services.randomFor(`process/${streamName}`),
      network: networkOf(process, this, services.network, logger),
      disk: diskOf(process, this.disk),
      logger,
    };
    return { process, clock, runtime };
  }
}
