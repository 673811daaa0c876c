/**
 * One direction of one connection over a link: what comes out of one socket goes into the other, in order, when the link lets it pass. An
 * end and a reset travel behind the bytes before them. Of a sender whose bytes wait, no more is read than a bound: then it has to wait,
 * too, as for a full window of TCP.
 */

import type { Socket } from 'node:net';
import type { Link } from './link.ts';

/** Bytes that wait in a flow: beyond them nothing is read. */
export const MAX_WAITING_BYTES = 256 * 1024;

interface Item {
  readonly what: Buffer | 'end' | 'reset';
  /** By `performance.now()`. */
  readonly passesAtMs: number;
  readonly slowed: boolean;
  held: boolean;
}

export interface FlowOptions {
  readonly link: Link;
  readonly source: Socket;
  readonly destination: Socket;
  /** A chunk has broken the connection. */
  readonly broken: () => void;
}

export class Flow {
  readonly #link: Link;
  readonly #source: Socket;
  readonly #destination: Socket;
  #items: Item[] = [];
  #waitingBytes = 0;
  #passesAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #drains = false;
  /** The last thing that passes was sent, or nothing passes any more. */
  #over = false;
  readonly #look = (): void => this.#deliver();

  constructor({ link, source, destination, broken }: FlowOptions) {
    this.#link = link;
    this.#source = source;
    this.#destination = destination;
    source.on('data', (chunk: Buffer) => {
      if (link.breaks()) broken();
      else this.take(chunk);
    });
    source.on('end', () => this.#push('end'));
    source.on('error', () => this.#push('reset'));
    destination.on('drain', () => {
      this.#drains = false;
      this.#deliver();
    });
    destination.on('close', () => this.#discard());
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  take(chunk: Buffer): void {
    this.#waitingBytes += chunk.length;
    this.#push(chunk);
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#source.pause();
  }

  /** Nothing passes any more. */
  stop(): void {
    this.#over = true;
    this.#discard();
  }

  #push(what: Item['what']): void {
    if (this.#over) return;
    if (this.#destination.destroyed) {
      // Nobody is there to hear it; the sender is told by the reset that comes the other way.
      this.#discard();
      return;
    }
    const delayMs = this.#link.delayMs();
    this.#passesAtMs = Math.max(this.#passesAtMs, performance.now() + delayMs + this.#link.pauseMs());
    const item = { what, passesAtMs: this.#passesAtMs, slowed: delayMs > 0, held: false };
    this.#items.push(item);
    if (this.#items.length === 1 || this.#link.hold !== undefined) this.#deliver();
  }

  #deliver(): void {
    clearTimeout(this.#timer);
    for (let first = this.#items[0]; first !== undefined; first = this.#items[0]) {
      const { hold } = this.#link;
      if (hold !== undefined) return this.#wait(hold);
      const nowMs = performance.now();
      if (first.passesAtMs > nowMs) {
        this.#timer = setTimeout(this.#look, Math.ceil(first.passesAtMs - nowMs));
        return;
      }
      if (this.#drains) return;
      this.#items.shift();
      if (first.slowed) this.#link.count('frame-slowed');
      this.#pass(first.what);
    }
  }

  #wait(hold: NonNullable<Link['hold']>): void {
    for (const item of this.#items) {
      if (item.held) continue;
      item.held = true;
      this.#link.count(hold);
    }
    this.#link.whenChanged(this.#look);
  }

  #pass(what: Item['what']): void {
    if (what === 'end') {
      this.#destination.end();
    } else if (what === 'reset') {
      this.stop();
      this.#destination.resetAndDestroy();
    } else {
      this.#drains = !this.#destination.write(what);
      this.#waitingBytes -= what.length;
      this.#readOn();
    }
  }

  #readOn(): void {
    if (this.#source.isPaused() && this.#waitingBytes <= MAX_WAITING_BYTES / 2) this.#source.resume();
  }

  #discard(): void {
    clearTimeout(this.#timer);
    this.#link.forget(this.#look);
    this.#items = [];
    this.#waitingBytes = 0;
    this.#drains = false;
    this.#readOn();
  }
}
