/**
 * One direction of one connection over a link, in order: what travels, and what has arrived and was not yet read. What a cut drops is sent
 * again as TCP does it: after ever longer pauses, one segment for all, until it is acknowledged, which takes the link back.
 */

import type { Link, Stalled } from './link.ts';
import type { SimEvent } from '../event-queue.ts';
import type { SimProcess } from '../process.ts';
import { retransmissionPauseTicks } from './retransmission.ts';

interface Item {
  readonly kind: string;
  readonly bytes: number;
  arrivesAtTicks: number;
  /** Behind a cut or a clog, and counted as such. */
  held: boolean;
  /** It had its turn on a link of limited bandwidth: it arrives when it has passed. */
  hadTurn: boolean;
  deliver(): void;
}

export class Pipe implements Stalled {
  readonly link: Link;
  /** The way back: of acknowledgements. */
  readonly #back: Link;
  #receiver: SimProcess | undefined;
  #travelling: Item[] = [];
  /** Lost, or not sent since something before was lost. */
  #unsent: Item[] = [];
  /** In the receiver's kernel; the process has not read it. */
  #arrived: Item[] = [];
  /** Of what travels and of what is to be sent. */
  #travellingBytes = 0;
  #arrivedBytes = 0;
  #moving = false;
  #stalled = false;
  /** Nothing new is sent until something that is sent again is acknowledged. */
  #backingOff = false;
  /** It does so since a cut has dropped something, and not by chance. */
  #heldByCut = true;
  /** A timer of the sender runs for what is not acknowledged. */
  #expectsAck = false;
  #attempts = 0;
  #discarded = false;
  #broken = false;
  #reading = false;
  #lastArrivalTicks = 0;
  #nextArrival: SimEvent | undefined;
  readonly #arrival = { run: (): void => this.#arrive() };
  readonly #retransmission = { run: (): void => this.#retransmit() };
  readonly #readable = (): void => this.#read();

  constructor(link: Link, back: Link) {
    this.link = link;
    this.#back = back;
  }

  /** Until it is set the kernel itself takes what arrives: the opening of a connection. */
  setReceiver(process: SimProcess): void {
    this.#receiver = process;
  }

  /** Bytes that do not move on: behind a cut, a clog or a limited bandwidth, or because the receiver does not read. */
  get stalledBytes(): number {
    const unread = this.#receiver?.paused === true ? this.#arrivedBytes : 0;
    const waits = this.link.isBlocked || this.link.isLimited || this.#backingOff;
    return unread + (waits ? this.#travellingBytes : 0);
  }

  /** Something waits for TCP to send it again. */
  get backsOff(): boolean {
    return this.#backingOff && this.#unsent.length > 0;
  }

  push(kind: string, bytes: number, deliver: () => void): void {
    if (this.#broken) return this.#lose(kind);
    if (this.#discarded) return;
    this.#lastArrivalTicks = Math.max(this.#lastArrivalTicks, this.link.arrivalTicks());
    const item = { kind, bytes, deliver, arrivesAtTicks: this.#lastArrivalTicks, held: false, hadTurn: false };
    this.#travellingBytes += bytes;
    if (this.#stalled || (this.#backingOff && this.#heldByCut)) this.#hold(item);
    if (this.#backingOff) {
      this.#unsent.push(item);
      return;
    }
    this.#travelling.push(item);
    if (!this.#moving) this.#move();
  }

  /** The sender is gone: an unknown suffix of what travels is lost; behind a cut, all of it. */
  loseSuffix(): void {
    if (this.#broken) return;
    const kept = this.link.isCut || this.#backingOff ? 0 : this.link.drawSurvivors(this.#travelling.length);
    const lost = [...this.#travelling.splice(kept), ...this.#unsent.splice(0)];
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
    this.#unsent = [];
    this.#arrived = [];
    this.#travellingBytes = 0;
    this.#arrivedBytes = 0;
    this.#stalled = false;
    this.#backingOff = false;
    this.#discarded = true;
    this.link.forget(this);
  }

  /** The link is not clogged any more. */
  resume(): void {
    this.#stalled = false;
    const first = this.#travelling[0];
    if (first !== undefined) first.arrivesAtTicks = this.link.arrivalTicks();
    this.#move();
  }

  passAtOnce(): void {
    const first = this.#travelling[0];
    // Behind a clog its end moves it on; what was dropped is sent again.
    if (first?.hadTurn !== true || this.#stalled || this.#nextArrival === undefined) return;
    this.link.scheduler.cancel(this.#nextArrival);
    first.arrivesAtTicks = this.link.scheduler.nowTicks;
    this.#move();
  }

  #move(): void {
    const first = this.#travelling[0];
    this.#moving = first !== undefined;
    if (first === undefined) return;
    const { scheduler, kinds } = this.link;
    const delayTicks = Math.max(0, first.arrivesAtTicks - scheduler.nowTicks);
    this.#nextArrival = scheduler.schedule(delayTicks, kinds.of(first.kind), this.#arrival);
  }

  #arrive(): void {
    this.#nextArrival = undefined;
    if (this.link.isCut) return this.#lost({ byCut: true });
    if (this.link.isClogged) return this.#stall();
    if (this.link.drawDrop()) return this.#lost({ byCut: false });
    const { nowTicks } = this.link.scheduler;
    let first = this.#travelling[0];
    while (first !== undefined && first.arrivesAtTicks <= nowTicks && this.#hasPassed(first)) {
      this.#travelling.shift();
      this.#travellingBytes -= first.bytes;
      this.#arrivedBytes += first.bytes;
      this.#arrived.push(first);
      first = this.#travelling[0];
    }
    this.#move();
    if (this.#back.isCut) this.#expectAck();
    this.#wakeReceiver();
  }

  /** Whether a limited bandwidth lets it arrive now; otherwise it comes when it had its turn. */
  #hasPassed(item: Item): boolean {
    if (item.hadTurn) return true;
    const passedAtTicks = this.link.takeTurn(this, item.bytes);
    if (passedAtTicks === undefined) return true;
    item.hadTurn = true;
    item.arrivesAtTicks = passedAtTicks;
    return false;
  }

  /** All that travels: what comes behind something that was lost waits for that. */
  #lost({ byCut }: { readonly byCut: boolean }): void {
    this.#moving = false;
    this.#heldByCut = byCut;
    if (byCut) for (const item of this.#travelling) this.#hold(item);
    this.#unsent = [...this.#travelling, ...this.#unsent];
    this.#travelling = [];
    this.#backingOff = true;
    this.#expectAck();
  }

  #expectAck(): void {
    if (this.#expectsAck) return;
    this.#expectsAck = true;
    const { scheduler, kinds } = this.link;
    const pauseTicks = retransmissionPauseTicks(this.#attempts, this.#receiver === undefined);
    scheduler.schedule(pauseTicks, kinds.of('retransmission'), this.#retransmission);
  }

  #retransmit(): void {
    this.#expectsAck = false;
    if (this.#discarded) return;
    this.#attempts += 1;
    if (this.link.isCut || this.#back.isCut) {
      this.link.struck.count('retransmission-lost');
      this.#heldByCut = true;
      for (const item of this.#unsent) this.#hold(item);
      this.#backingOff = true;
      this.#expectAck();
      return;
    }
    if (this.link.drawDrop()) {
      this.#backingOff = true;
      this.#expectAck();
      return;
    }
    this.#attempts = 0;
    this.#backingOff = false;
    const arrivesAtTicks = Math.max(this.#lastArrivalTicks, this.link.arrivalTicks());
    this.#lastArrivalTicks = arrivesAtTicks;
    for (const item of this.#unsent) {
      item.arrivesAtTicks = arrivesAtTicks;
      item.hadTurn = false;
    }
    this.#travelling.push(...this.#unsent);
    this.#unsent = [];
    if (!this.#moving) this.#move();
  }

  #lose(kind: string): void {
    if (kind === 'frame') this.link.struck.count('frame-lost');
  }

  /** Stays "moving": the end of the clog moves it on, not the next push. */
  #stall(): void {
    this.#stalled = true;
    this.link.stall(this);
    for (const item of this.#travelling) this.#hold(item);
  }

  #hold(item: Item): void {
    if (item.held) return;
    item.held = true;
    this.link.struck.count(this.#stalled ? 'frame-held-by-clog' : 'frame-held-by-cut');
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
