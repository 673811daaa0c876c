/** One direction of one connection over a link, in order: what travels, and what has arrived and was not yet read. */

import type { Link } from './link.ts';
import type { SimProcess } from './process.ts';

interface Item {
  readonly kind: string;
  readonly bytes: number;
  arrivesAtTicks: number;
  /** Behind a cut or a clog, and counted as such. */
  held: boolean;
  deliver(): void;
}

export class Pipe {
  readonly link: Link;
  #receiver: SimProcess | undefined;
  #travelling: Item[] = [];
  /** In the receiver's kernel; the process has not read it. */
  #arrived: Item[] = [];
  #travellingBytes = 0;
  #arrivedBytes = 0;
  #moving = false;
  #stalled = false;
  #broken = false;
  #reading = false;
  #lastArrivalTicks = 0;
  readonly #arrival = { run: (): void => this.#arrive() };
  readonly #readable = (): void => this.#read();

  constructor(link: Link) {
    this.link = link;
  }

  /** Until it is set the kernel itself takes what arrives: the opening of a connection. */
  setReceiver(process: SimProcess): void {
    this.#receiver = process;
  }

  /** Bytes that do not move on: behind a cut or a clog, or because the receiver does not read. */
  get stalledBytes(): number {
    const unread = this.#receiver?.paused === true ? this.#arrivedBytes : 0;
    return unread + (this.link.isBlocked ? this.#travellingBytes : 0);
  }

  push(kind: string, bytes: number, deliver: () => void): void {
    if (this.#broken) return this.#lose(kind);
    this.#lastArrivalTicks = Math.max(this.#lastArrivalTicks, this.link.arrivalTicks());
    const item = { kind, bytes, deliver, arrivesAtTicks: this.#lastArrivalTicks, held: false };
    this.#travelling.push(item);
    this.#travellingBytes += bytes;
    if (this.#stalled) this.#hold(item);
    if (!this.#moving) this.#move();
  }

  /** The sender is gone: an unknown suffix of what travels is lost; behind a cut, all of it. */
  loseSuffix(): void {
    if (this.#broken) return;
    const kept = this.link.isCut ? 0 : this.link.drawSurvivors(this.#travelling.length);
    const lost = this.#travelling.splice(kept);
    for (const { kind, bytes } of lost) {
      this.#travellingBytes -= bytes;
      this.#lose(kind);
    }
  }

  /** The connection breaks under way: an unknown suffix is lost, then comes `deliver`, and nothing that is sent later. */
  breakOff(deliver: () => void): void {
    this.loseSuffix();
    this.push('reset', 0, deliver);
    this.#broken = true;
  }

  /** The receiver is gone: nothing that travels or waits is read any more. */
  discard(): void {
    this.#travelling = [];
    this.#arrived = [];
    this.#travellingBytes = 0;
    this.#arrivedBytes = 0;
    this.#stalled = false;
    this.link.forget(this);
  }

  /** The link is free again. */
  retransmit(): void {
    this.#stalled = false;
    const first = this.#travelling[0];
    if (first !== undefined) first.arrivesAtTicks = this.link.arrivalTicks();
    this.#move();
  }

  #move(): void {
    const first = this.#travelling[0];
    this.#moving = first !== undefined;
    if (first === undefined) return;
    const { scheduler, kinds } = this.link;
    const delayTicks = Math.max(0, first.arrivesAtTicks - scheduler.nowTicks);
    scheduler.schedule(delayTicks, kinds.of(first.kind), this.#arrival);
  }

  #arrive(): void {
    if (this.link.isBlocked) return this.#stall();
    const { nowTicks } = this.link.scheduler;
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

  #lose(kind: string): void {
    if (kind === 'frame') this.link.struck.count('frame-lost');
  }

  /** Stays "moving": the end of the block moves it on, not the next push. */
  #stall(): void {
    this.#stalled = true;
    this.link.stall(this);
    for (const item of this.#travelling) this.#hold(item);
  }

  #hold(item: Item): void {
    if (item.held) return;
    item.held = true;
    this.link.struck.count(this.link.isCut ? 'frame-held-by-cut' : 'frame-held-by-clog');
  }

  #wakeReceiver(): void {
    if (this.#receiver === undefined) return this.#read();
    if (this.#reading || this.#arrived.length === 0) return;
    this.#reading = true;
    this.#receiver.deliver('io', 'read', this.#readable);
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
        this.link.scheduler.schedule(0, this.link.kinds.of('read'), { run: () => this.#wakeReceiver() });
    }
  }
}
