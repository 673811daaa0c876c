/**
 * A TCP connection of a load generator: everything that is sent while a chunk is being handled leaves in one system call when it
 * has been handled, and received bytes are handed over from one reused buffer.
 */

import { connect, type Socket } from 'node:net';

const READ_BUFFER_BYTES = 64 * 1024;

export interface WireHandler {
  connected(): void;
  /** As many bytes as could be used are; the rest comes again with what follows it. `bytes` is reused afterwards. */
  data(bytes: Buffer): number;
  /** Called before everything gathered leaves, to add what the protocol frames by the turn. */
  flushing?(): void;
  /** Called once. */
  closed(error: Error): void;
}

export class WireSocket {
  readonly #socket: Socket;
  readonly #handler: WireHandler;
  #rest: Buffer | undefined;
  #gathered: Uint8Array[] = [];
  #inCallback = false;
  #closed = false;

  constructor(address: string, handler: WireHandler) {
    this.#handler = handler;
    const [host = '127.0.0.1', port = '0'] = address.split(':');
    const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
    this.#socket = connect({
      host,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer,
        callback: (length, bytes) => {
          this.#read((bytes as Buffer).subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.once('connect', () => {
      this.turn(() => handler.connected());
    });
    this.#socket.on('error', (error) => this.#end(error));
    this.#socket.on('close', () => this.#end(new Error(`the connection to ${address} was closed`)));
  }

  /** `bytes` must not change afterwards. */
  send(bytes: Uint8Array): void {
    this.#gathered.push(bytes);
    if (!this.#inCallback) this.flush();
  }

  /** Runs `work`; what it sends leaves together. */
  turn(work: () => void): void {
    if (this.#inCallback) {
      work();
      return;
    }
    this.#inCallback = true;
    try {
      work();
    } finally {
      this.#inCallback = false;
      this.flush();
    }
  }

  get inTurn(): boolean {
    return this.#inCallback;
  }

  flush(): void {
    this.#handler.flushing?.();
    const gathered = this.#gathered;
    if (gathered.length === 0 || this.#closed) return;
    this.#gathered = [];
    this.#socket.write(gathered.length === 1 ? (gathered[0] as Uint8Array) : Buffer.concat(gathered));
  }

  destroy(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.turn(() => {
      const used = this.#handler.data(bytes);
      this.#rest = used === bytes.length ? undefined : Buffer.from(bytes.subarray(used));
    });
  }

  #end(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handler.closed(error);
  }
}
