/**
 * A socket as Node's HTTP parser sees it. The parser makes a request of everything that is in a chunk before anything else happens: a
 * chunk of 64 KiB holds 3,600 of them, and 32 such chunks held the event loop for two seconds. Through this stream it gets little at
 * a time, nothing more while a request is under way, and the next piece in a later turn of the loop.
 */

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Enough for the head of a common request, and at most 28 of the shortest ones. */
export const HTTP_SLICE_BYTES = 512;

type Later = (work: () => void) => void;

export class HttpStream extends Duplex {
  readonly socket: Socket;
  /** When the next piece is due. */
  readonly #later: Later;
  /** What has arrived and the parser does not have yet. */
  #held: Buffer | undefined;
  /** Of a body: bytes that are no head, whatever is in them. */
  #bodyBytes = 0;
  #ended = false;
  #wanted = false;
  #asked = false;
  #paused = false;
  #detached = false;
  readonly #onData = (chunk: Buffer): void => {
    this.socket.pause();
    this.#held = chunk;
    this.#feed();
  };
  readonly #onEnd = (): void => {
    this.#ended = true;
    this.#feed();
  };
  readonly #onError = (error: Error): void => void this.destroy(error);
  readonly #onClose = (): void => void this.destroy();
  readonly #onTimeout = (): void => void this.emit('timeout');

  constructor(socket: Socket, later: Later) {
    super({ allowHalfOpen: true, decodeStrings: false });
    this.socket = socket;
    this.#later = later;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError);
    socket.on('close', this.#onClose).on('timeout', this.#onTimeout);
  }

  /** Of what was written, while the system does not take it. */
  get unreadBytes(): number {
    // What the socket has taken counts here until it says so, a moment later.
    return this.socket.writableLength === 0 ? 0 : this.writableLength;
  }

  /** The parser gets nothing until `goOn`. */
  hold(): void {
    this.#paused = true;
  }

  /** The head of a request with a body of that length has been parsed in the present piece. The body goes on as it arrives. */
  expectBody(bytes: number): void {
    // The piece may have its beginning.
    this.#bodyBytes = Math.max(0, bytes - HTTP_SLICE_BYTES);
  }

  goOn(): void {
    this.#paused = false;
    this.#feedLater();
  }

  /** Ends as a stream, for a connection that goes on without HTTP; what the parser did not get is returned. */
  detach(): Buffer {
    this.#detached = true;
    const { socket } = this;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError);
    socket.off('close', this.#onClose).off('timeout', this.#onTimeout);
    // It was paused here; who listens next expects it to flow.
    socket.resume();
    this.destroy();
    return this.#held ?? Buffer.alloc(0);
  }

  /** As a socket has it; the server of node:http uses both. */
  setTimeout(timeoutMs: number): this {
    this.socket.setTimeout(timeoutMs);
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _read(): void {
    this.#wanted = true;
    if (this.#held === undefined && !this.#ended) this.socket.resume();
    else this.#feedLater();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, encoding, done);
  }

  /** Head and body of an answer reach the system together. */
  override _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.socket.cork();
    for (const [n, { chunk, encoding }] of chunks.entries()) {
      if (n === chunks.length - 1) this.socket.write(chunk, encoding, done);
      else this.socket.write(chunk, encoding);
    }
    this.socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#detached) this.socket.destroy();
    done(error);
  }

  #feedLater(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#later(() => {
      this.#asked = false;
      this.#feed();
    });
  }

  #feed(): void {
    if (this.#paused || !this.#wanted || this.#asked || this.#detached || this.destroyed) return;
    const held = this.#held;
    if (held === undefined) {
      if (this.#ended) this.push(null);
      return;
    }
    const size = this.#bodyBytes > 0 ? this.#bodyBytes : HTTP_SLICE_BYTES;
    this.#wanted = false;
    this.#held = held.length > size ? held.subarray(size) : undefined;
    this.#bodyBytes = Math.max(0, this.#bodyBytes - held.length);
    this.push(held.subarray(0, size));
  }
}
