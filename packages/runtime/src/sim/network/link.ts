/**
 * One direction between two hosts: its latency and its faults. A cut drops what arrives while it lasts; what travels while the link is
 * clogged waits and goes on afterwards. The pipes of connections (pipe.ts) lead over it.
 */

import type { Random } from '../../random.ts';
import { drawTicks } from './latency.ts';
import type { Latency } from './latency.ts';
import { toMs, toTicks } from '../scheduler.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Struck } from '../struck.ts';
import { EventKinds } from '../trace.ts';

/**
 * Arrivals are rounded up to multiples of 1/16 ms: what several connections deliver within one step arrives at one
 * instant and is read in one turn, as one poll of a busy process reads many sockets.
 */
const ARRIVAL_STEP_TICKS = 64;

/** What waits for the end of a clog, or of a limited bandwidth. */
export interface Stalled {
  resume(): void;
  /** What waits for its turn on the link need not wait any more. */
  passAtOnce(): void;
}

/** What takes a limited link less than this is as if there were no limit. */
const LEAST_DELAY_MS = 1;

/** What becomes of dials: they pass, are answered "nothing listens here", or get no answer. */
export type DialMode = 'normal' | 'refused' | 'hanging';

export interface LinkServices {
  readonly scheduler: Scheduler;
  readonly struck: Struck;
  readonly randomFor: (name: string) => Random;
}

/** What may be set for all links at once. */
export interface LinkSettings {
  latency: Latency;
  /** Takes the place of its latency while it lasts. */
  slowness: Latency | undefined;
  /** With this chance a frame breaks its connection. */
  lossChance: number;
  /** With this chance what arrives is dropped, and has to be sent again. */
  packetLoss: number;
  dials: DialMode;
}

export class Link implements LinkSettings {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly struck: Struck;
  readonly kinds: EventKinds;
  latency: Latency;
  slowness: Latency | undefined;
  lossChance: number;
  packetLoss: number;
  dials: DialMode;
  readonly #latencyRandom: Random;
  readonly #lossRandom: Random;
  readonly #dropRandom: Random;
  #cut = false;
  #cloggedUntilTicks = 0;
  readonly #stalled = new Set<Stalled>();
  #bytesPerMs: number | undefined;
  /** Until then a limited link is taken by what had its turn. */
  #takenUntilTicks = 0;
  readonly #inTurn = new Set<Stalled>();

  constructor(name: string, { scheduler, struck, randomFor }: LinkServices, settings: LinkSettings) {
    this.name = name;
    this.scheduler = scheduler;
    this.struck = struck;
    this.kinds = new EventKinds(name);
    this.latency = settings.latency;
    this.slowness = settings.slowness;
    this.lossChance = settings.lossChance;
    this.packetLoss = settings.packetLoss;
    this.dials = settings.dials;
    this.#latencyRandom = randomFor(`network/${name}`);
    this.#lossRandom = randomFor(`network/${name}/loss`);
    this.#dropRandom = randomFor(`network/${name}/drops`);
  }

  get isCut(): boolean {
    return this.#cut;
  }

  get isClogged(): boolean {
    return this.#cloggedUntilTicks > this.scheduler.nowTicks;
  }

  get isBlocked(): boolean {
    return this.#cut || this.isClogged;
  }

  get isLimited(): boolean {
    return this.#bytesPerMs !== undefined;
  }

  cut(): void {
    this.#cut = true;
  }

  /** What was dropped comes when it is sent again, which may be a while. */
  healCut(): void {
    this.#cut = false;
  }

  clog(forMs: number): void {
    const delayTicks = toTicks(forMs);
    this.#cloggedUntilTicks = Math.max(this.#cloggedUntilTicks, this.scheduler.nowTicks + delayTicks);
    this.scheduler.schedule(delayTicks, this.kinds.of('unclog'), { run: () => this.#release() });
  }

  /** Undefined: as much as anybody sends. What has its turn when the limit changes passes at once. */
  limitBandwidth(bytesPerSecond: number | undefined): void {
    this.#bytesPerMs = bytesPerSecond === undefined ? undefined : bytesPerSecond / 1_000;
    this.#takenUntilTicks = 0;
    const inTurn = [...this.#inTurn];
    this.#inTurn.clear();
    for (const pipe of inTurn) pipe.passAtOnce();
  }

  /**
   * When so many bytes have passed, which all connections over the link wait for in turns. Undefined: now, since the bandwidth has no
   * limit. Of each connection only the first frame may ask, so that one with much to send does not keep the others waiting.
   */
  takeTurn(pipe: Stalled, bytes: number): number | undefined {
    if (this.#bytesPerMs === undefined || bytes === 0) return undefined;
    const { nowTicks } = this.scheduler;
    this.#takenUntilTicks = Math.max(this.#takenUntilTicks, nowTicks) + toTicks(bytes / this.#bytesPerMs);
    if (toMs(this.#takenUntilTicks - nowTicks) >= LEAST_DELAY_MS) this.struck.count('bytes-delayed', bytes);
    this.#inTurn.add(pipe);
    return this.#takenUntilTicks;
  }

  /** Ends every fault but a slowness; the latency stays. */
  heal(): void {
    this.#cloggedUntilTicks = 0;
    this.lossChance = 0;
    this.packetLoss = 0;
    this.dials = 'normal';
    this.healCut();
    this.#release();
    this.limitBandwidth(undefined);
  }

  /** A pipe's content has come to the clog and waits for its end. */
  stall(pipe: Stalled): void {
    this.#stalled.add(pipe);
  }

  forget(pipe: Stalled): void {
    this.#stalled.delete(pipe);
    this.#inTurn.delete(pipe);
  }

  /** When something sent now arrives. */
  arrivalTicks(): number {
    const delayTicks = drawTicks(this.slowness ?? this.latency, this.#latencyRandom);
    if (this.slowness !== undefined && delayTicks > toTicks(this.latency.maxMs)) this.struck.count('frame-slowed');
    const ticks = this.scheduler.nowTicks + delayTicks;
    return Math.ceil(ticks / ARRIVAL_STEP_TICKS) * ARRIVAL_STEP_TICKS;
  }

  /** Whether the frame that is sent now is to break its connection. Links without the fault draw nothing. */
  drawLoss(): boolean {
    return this.lossChance > 0 && this.#lossRandom.next() < this.lossChance;
  }

  /** Whether what arrives now is dropped, which is counted. Links without the fault draw nothing. */
  drawDrop(): boolean {
    if (this.packetLoss === 0 || this.#dropRandom.next() >= this.packetLoss) return false;
    this.struck.count('packet-dropped');
    return true;
  }

  /** How many of so many things that travel still arrive when their connection ends. */
  drawSurvivors(travelling: number): number {
    return this.#lossRandom.integer(travelling + 1);
  }

  #release(): void {
    if (this.isClogged) return;
    const stalled = [...this.#stalled];
    this.#stalled.clear();
    for (const pipe of stalled) pipe.resume();
  }
}
