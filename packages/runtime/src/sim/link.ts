/**
 * One direction between two hosts. A link has a latency and may be cut; what travels while it is cut waits and goes on
 * after the heal, as TCP retransmits. A pipe is one direction of one connection over a link, in order.
 */

import type { Random } from '../random.ts';
import { drawTicks } from './latency.ts';
import type { Latency } from './latency.ts';
import type { SimProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';
import { EventKinds } from './trace.ts';

/**
 * Arrivals are rounded up to multiples of 1/16 ms: what several connections deliver within one step arrives at one
 * instant and is read in one turn, as one poll of a busy process reads many sockets.
 */
const ARRIVAL_STEP_TICKS = 64;

export class Link {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly kinds: EventKinds;
  readonly random: Random;
  latency: Latency;
  #cut = false;
  readonly #stalled = new Set<Pipe>();

  constructor(name: string, scheduler: Scheduler, random: Random, latency: Latency) {
    this.name = name;
    this.scheduler = scheduler;
    this.kinds = new EventKinds(name);
    this.random = random;
    this.latency = latency;
  }

  get isCut(): boolean {
    return this.#cut;
  }

  cut(): void {
    this.#cut = true;
  }

  heal(): void {
    this.#cut = false;
    const stalled = [...this.#stalled];
    this.#stalled.clear();
    for (const pipe of stalled) pipe.retransmit();
  }

  stall(pipe: Pipe): void {
    this.#stalled.add(pipe);
  }

  forget(pipe: Pipe): void {
    this.#stalled.delete(pipe);
  }

  /** When something sent now arrives. */
  arrivalTicks(): number {
    const ticks = this.scheduler.nowTicks + drawTicks(this.latency, this.random);
    return Math.ceil(ticks / ARRIVAL_STEP_TICKS) * ARRIVAL_STEP_TICKS;
  }
}

interface Item {
  readonly kind: string;
  readonly bytes: number;
  arrivesAtTicks: number;
  deliver(): void;
}

export class Pipe {
  readonly #link: Link;
  #receiver: SimProcess | undefined;
  #travelling: Item[] = [];
  /** In the receiver's kernel; the process has not read it. */
  #arrived: Item[] = [];
  #travellingBytes = 0;
  #arrivedBytes = 0;
  #moving = false;
  #reading = false;
  #lastArrivalTicks = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Until it is set the kernel itself takes what arrives: the opening of a connection. */
  setReceiver(process: SimProcess): void {
    this.#receiver = process;
  }

  /** Bytes that do not move on: behind a cut, or because the receiver does not read. */
  get stalledBytes(): number {
    const unread = this.#receiver?.paused === true ? this.#arrivedBytes : 0;
    return unread + (this.#link.isCut ? this.#travellingBytes : 0);
  }

  push(kind: string, bytes: number, deliver: () => void): void {
    this.#lastArrivalTicks = Math.max(this.#lastArrivalTicks, this.#link.arrivalTicks());
    this.#travelling.push({ kind, bytes, deliver, arrivesAtTicks: this.#lastArrivalTicks });
    this.#travellingBytes += bytes;
    if (!this.#moving) this.#move();
  }

  /** The sender is gone: an unknown suffix of what travels is lost; behind a cut, all of it. */
  loseSuffix(): void {
    const kept = this.#link.isCut ? 0 : this.#link.random.integer(this.#travelling.length + 1);
    this.#travelling.length = kept;
    this.#travellingBytes = this.#travelling.reduce((sum, item) => sum + item.bytes, 0);
  }

  /** The receiver is gone: nothing that travels or waits is read any more. */
  discard(): void {
    this.#travelling = [];
    this.#arrived = [];
    this.#travellingBytes = 0;
    this.#arrivedBytes = 0;
    this.#link.forget(this);
  }

  retransmit(): void {
    const first = this.#travelling[0];
    if (first !== undefined) first.arrivesAtTicks = this.#link.arrivalTicks();
    this.#move();
  }

  #move(): void {
    const first = this.#travelling[0];
    this.#moving = first !== undefined;
    if (first === undefined) return;
    const { scheduler, kinds } = this.#link;
    const delayTicks = Math.max(0, first.arrivesAtTicks - scheduler.nowTicks);
    scheduler.schedule(delayTicks, kinds.of(first.kind), () => this.#arrive());
  }

  #arrive(): void {
    if (this.#link.isCut) {
      // Stays "moving": the heal moves it on, not the next push.
      this.#link.stall(this);
      return;
    }
    const { nowTicks } = this.#link.scheduler;
    let first = this.#travelling[0];
    while (first !== undefined && first.arrivesAtTicks <= nowTicks) {
      this.#travelling.shift();
      this.#travellingBytes -= first.bytes;
      this.#arrivedBytes += first.bytes;
      this.#arrived.push(first);
      first = this.#travelling[0];
    }
    this.#move();
    this.#wakeReceiver();
  }

  #wakeReceiver(): void {
    if (this.#receiver === undefined) return this.#read();
    if (this.#reading || this.#arrived.length === 0) return;
    this.#reading = true;
    this.#receiver.deliver('io', 'read', () => this.#read());
  }

  /** One readable event of the socket: everything that has arrived, one after another. */
  #read(): void {
    this.#reading = false;
    try {
      let item = this.#arrived.shift();
      while (item !== undefined) {
        this.#arrivedBytes -= item.bytes;
        item.deliver();
        item = this.#arrived.shift();
      }
    } finally {
      // A handler threw: the rest is read in a turn of its own.
      if (this.#arrived.length > 0)
        this.#link.scheduler.schedule(0, this.#link.kinds.of('read'), () => this.#wakeReceiver());
    }
  }
}
