/** A TCP socket as a `ByteStream`. */

import type { Socket } from 'node:net';

import type { ByteStream, StreamHandler } from '../../network/byte-stream.ts';
import type { Address } from '../../network/address.ts';

/** How long an end that has asked to close waits for the other one's end. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Finds out about a peer whose machine has gone while nothing is sent. */
const KEEP_ALIVE_AFTER_MS = 10_000;

export class NodeByteStream implements ByteStream {
  readonly remoteAddress: Address;
  readonly peerIdentity = undefined;
  readonly #socket: Socket;
  #handler: StreamHandler | undefined;
  /** This side has ended it: nothing that still arrives is handed over. */
  #ended = false;
  #reason: string | undefined;
  #closed = false;
  #closeHeard = false;

  /** What arrives waits in the socket until there is a handler. */
  constructor(socket: Socket, remoteAddress: Address) {
    this.remoteAddress = remoteAddress;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
    socket.on('error', (error) => (this.#reason ??= error.message));
    socket.on('close', () => {
      this.#closed = true;
      this.#hearClose();
    });
  }

  get bufferedBytes(): number {
    return this.#closed ? 0 : this.#socket.writableLength;
  }

  get receivedBytes(): number {
    return this.#socket.bytesRead;
  }

  get open(): boolean {
    return !this.#ended && !this.#closed && this.#socket.writable;
  }

  setHandler(handler: StreamHandler): void {
    const first = this.#handler === undefined;
    this.#handler = handler;
    if (!first) return;
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    if (this.#closed) queueMicrotask(() => this.#hearClose());
  }

  write(bytes: Uint8Array): void {
    if (this.open) this.#socket.write(bytes);
  }

  close(): void {
    if (this.#ended || this.#closed) return;
    this.#ended = true;
    this.#reason ??= 'closed by this side';
    const timeout = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    this.#socket.once('close', () => clearTimeout(timeout));
    this.#socket.end();
    // The other end must be read to its end, even when nothing was read so far.
    this.#socket.resume();
  }

  destroy(): void {
    this.#ended = true;
    this.#reason ??= 'destroyed by this side';
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    if (!this.#ended) this.#handler?.data(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length));
  }

  #hearClose(): void {
    if (this.#closeHeard || this.#handler === undefined) return;
    this.#closeHeard = true;
    this.#handler.close(this.#reason ?? 'closed by the peer');
  }
}
