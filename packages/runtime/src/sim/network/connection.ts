/** One end of a simulated connection: the `Connection` that a process holds. Closing follows WebSocket over TCP. */

import type { Address } from '../../network/address.ts';
import type { Connection, ConnectionHandler } from '../../network/network.ts';
import type { Pipe } from './pipe.ts';
import type { SimProcess } from '../process.ts';
import { toTicks } from '../scheduler.ts';

/** An end that has asked to close waits this long for the other one's answer. */
const CLOSE_TIMEOUT_MS = 2_000;

export interface EndOptions {
  readonly process: SimProcess;
  readonly remoteAddress: Address;
  readonly maxFrameBytes: number;
  readonly maxGreetingBytes?: number | undefined;
  readonly outgoing: Pipe;
  readonly incoming: Pipe;
}

export class SimConnection implements Connection {
  readonly remoteAddress: Address;
  readonly peerIdentity = undefined;
  readonly #process: SimProcess;
  readonly #maxFrameBytes: number;
  readonly #outgoing: Pipe;
  readonly #incoming: Pipe;
  readonly #removeDeathHook: () => void;
  /** Bytes that may still come. */
  #allowance: number;
  #receivedBytes = 0;
  #peer: SimConnection | undefined;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #closeReason = '';
  #handler: ConnectionHandler | undefined;
  /** What came before there was a handler. */
  #unheard: Uint8Array[] = [];
  #flushing = false;
  /** Between the ends it is broken already. */
  #breaking = false;
  #closeHeard = false;
  #onClosed: (() => void) | undefined;

  constructor(options: EndOptions) {
    this.remoteAddress = options.remoteAddress;
    this.#process = options.process;
    this.#maxFrameBytes = options.maxFrameBytes;
    this.#allowance = options.maxGreetingBytes ?? Infinity;
    this.#outgoing = options.outgoing;
    this.#incoming = options.incoming;
    this.#removeDeathHook = this.#process.onDeath(() => this.#abort());
  }

  get open(): boolean {
    return this.#state === 'open';
  }

  get bufferedBytes(): number {
    return this.#state === 'closed' ? 0 : this.#outgoing.stalledBytes;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Something waits, either way, for TCP to send it again. */
  get backsOff(): boolean {
    return this.#outgoing.backsOff || this.#incoming.backsOff;
  }

  /** Joins the two ends; `onClosed` is called once when this one is closed. */
  join(peer: SimConnection, onClosed?: () => void): void {
    this.#peer = peer;
    this.#onClosed = onClosed;
  }

  admit(): void {
    this.#allowance = Infinity;
  }

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
    if (this.#unheard.length === 0 && this.#state !== 'closed') return;
    this.#flushing = true;
    this.#process.schedule(0, 'io', 'read-early-frames', () => this.#flush());
  }

  send(frame: Uint8Array): void {
    if (this.#state !== 'open' || !this.#process.alive) return;
    this.#process.scheduler.recordBytes(frame);
    if (!this.#breaking && this.#outgoing.link.drawLoss()) {
      this.#outgoing.link.struck.count('frame-lost');
      this.break();
      return;
    }
    this.#outgoing.push('frame', frame.length, () => this.#peer?.receive(frame));
  }

  close(reason = ''): void {
    if (this.#state !== 'open' || !this.#process.alive) return;
    this.#state = 'closing';
    this.#closeReason = reason;
    this.#outgoing.push('close', 0, () => this.#peer?.receiveClose(reason));
    this.#process.schedule(toTicks(CLOSE_TIMEOUT_MS), 'timer', 'close-timeout', () => this.destroy());
  }

  destroy(): void {
    if (this.#state === 'closed' || !this.#process.alive) return;
    const reason = this.#state === 'closing' ? this.#closeReason : 'destroyed by this side';
    this.#abort();
    this.#process.schedule(0, 'io', 'destroyed', () => this.#hearClose(reason));
  }

  /** The connection breaks between its ends: each hears of it when its link lets it. */
  break(): void {
    if (this.#state === 'closed' || this.#breaking) return;
    this.#breaking = true;
    if (this.#peer !== undefined) this.#peer.#breaking = true;
    this.#outgoing.link.struck.count('connection-broken');
    const reason = 'connection reset';
    this.#outgoing.breakOff(() => this.#peer?.receiveReset(reason));
    this.#incoming.breakOff(() => this.receiveReset(reason));
  }

  /** Called by the pipe in this end's process, as are the next two. */
  receive(frame: Uint8Array): void {
    if (this.#state !== 'open') return;
    this.#process.work(this.#process.costs.frameMs);
    this.#allowance -= frame.length;
    this.#receivedBytes += frame.length;
    if (frame.length > this.#maxFrameBytes || this.#allowance < 0) {
      const reason =
        this.#allowance < 0
          ? 'more bytes came before a greeting was accepted than are allowed'
          : `a frame of ${frame.length} bytes is longer than the limit of ${this.#maxFrameBytes}`;
      this.#abort(reason);
      this.#process.schedule(0, 'io', 'frame-too-long', () => this.#hearClose(reason));
      return;
    }
    // A copy, which the slice() of a Buffer is not: the two processes share no memory.
    const copy = Buffer.from(frame);
    const bytes = new Uint8Array(copy.buffer, copy.byteOffset, copy.length);
    if (this.#handler === undefined || this.#flushing) this.#unheard.push(bytes);
    else this.#handler.frame(bytes);
  }

  receiveClose(reason: string): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'open') this.#outgoing.push('close', 0, () => this.#peer?.receiveClose(reason));
    this.#finish();
    this.#hearClose(reason);
  }

  receiveReset(reason: string): void {
    if (this.#state === 'closed') return;
    this.#finish();
    this.#incoming.discard();
    this.#hearClose(reason);
  }

  /** Ends this side without a word to its own process; the other side learns of it when the link lets it. */
  #abort(reason = 'connection reset by peer'): void {
    if (this.#state === 'closed') return;
    this.#finish();
    this.#incoming.discard();
    this.#outgoing.loseSuffix();
    this.#outgoing.push('reset', 0, () => this.#peer?.receiveReset(reason));
  }

  #finish(): void {
    this.#state = 'closed';
    this.#removeDeathHook();
    this.#onClosed?.();
  }

  #flush(): void {
    const unheard = this.#unheard;
    this.#unheard = [];
    this.#flushing = false;
    for (const frame of unheard) this.#handler?.frame(frame);
    if (this.#state === 'closed') this.#hearClose(this.#closeReason);
  }

  #hearClose(reason: string): void {
    this.#closeReason = reason;
    if (this.#closeHeard || this.#handler === undefined || this.#flushing) return;
    this.#closeHeard = true;
    this.#handler.close(reason);
  }
}
