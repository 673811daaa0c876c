/** A simulated stream of bytes, over a connection whose messages are cut where nobody expects it, as TCP cuts what it carries. */

import type { ByteStream, StreamHandler } from '../../network/byte-stream.ts';
import type { Address } from '../../network/address.ts';
import type { Random } from '../../random.ts';
import type { SimConnection } from './connection.ts';

export class SimByteStream implements ByteStream {
  readonly peerIdentity = undefined;
  readonly #connection: SimConnection;
  readonly #random: Random;

  constructor(connection: SimConnection, random: Random) {
    this.#connection = connection;
    this.#random = random;
  }

  get remoteAddress(): Address {
    return this.#connection.remoteAddress;
  }

  get bufferedBytes(): number {
    return this.#connection.bufferedBytes;
  }

  get receivedBytes(): number {
    return this.#connection.receivedBytes;
  }

  get open(): boolean {
    return this.#connection.open;
  }

  setHandler(handler: StreamHandler): void {
    this.#connection.setHandler({
      frame: (bytes) => this.#receive(bytes, handler),
      close: (reason) => handler.close(reason === '' ? 'closed by the peer' : reason),
    });
  }

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#connection.send(bytes);
  }

  close(): void {
    this.#connection.close();
  }

  destroy(): void {
    this.#connection.destroy();
  }

  #receive(bytes: Uint8Array, handler: StreamHandler): void {
    const cut = this.#random.integer(bytes.length);
    if (cut > 0) handler.data(bytes.subarray(0, cut));
    // What it has heard may have made it end the stream.
    if (cut === 0 || this.#connection.open) handler.data(bytes.subarray(cut));
  }
}
