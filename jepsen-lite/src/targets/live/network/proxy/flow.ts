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
  /** Its turn on a link of limited bandwidth. */
  turn?: { readonly fromMs: number; readonly untilMs: number };
}

/** As large as packets are: flows of a link that carries little take turns. */
const PIECE_BYTES = 1_460;
/** What takes a limited link less than this is as if there were no limit. */
const LEAST_DELAY_MS = 1;

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
      if (this.#link.isLimited && this.#waitsForItsTurn(nowMs)) return;
      const item = this.#items.shift() ?? first;
      if (item.slowed) this.#link.count('frame-slowed');
      this.#countDelay(item, nowMs);
      this.#pass(item.what);
    }
  }

  /** The first item is cut into pieces, of which each waits until it has passed. */
  #waitsForItsTurn(nowMs: number): boolean {
    const [first] = this.#items;
    if (first === undefined || typeof first.what === 'string') return false;
    let { turn } = first;
    if (turn === undefined) {
      const piece = first.what.subarray(0, PIECE_BYTES);
      const rest = first.what.subarray(PIECE_BYTES);
      turn = { fromMs: nowMs, untilMs: this.#link.takeTurn(piece.length) };
      const pieces = [
        { ...first, what: piece, turn },
        ...(rest.length > 0 ? [{ ...first, what: rest, slowed: false }] : []),
      ];
      this.#items.splice(0, 1, ...pieces);
    }
    if (turn.untilMs <= nowMs) return false;
    this.#timer = setTimeout(this.#look, Math.ceil(turn.untilMs - nowMs));
    this.#link.whenChanged(this.#look);
    return true;
  }

  #countDelay({ what, turn }: Item, nowMs: number): void {
    if (turn === undefined || typeof what === 'string' || nowMs - turn.fromMs < LEAST_DELAY_MS) return;
    this.#link.count('bytes-delayed', what.length);
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
