/** A connection that sends one PUT after the other and reads no more of the answers than it must: what is measured is the server. */

import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const HEAD_END = '\r\n\r\n';

export class PutConnection {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #headers: string;
  #heard: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  private constructor(socket: Socket, host: string, headers: string) {
    this.#socket = socket;
    this.#host = host;
    this.#headers = headers;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#hear(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error(`${host} closed the connection`)));
  }

  /** @param headers of each request, by their names */
  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<PutConnection> {
    const { host, hostname, port } = new URL(url);
    const socket = createConnection({ host: hostname, port: Number(port) });
    await once(socket, 'connect');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return new PutConnection(socket, host, lines.join(''));
  }

  /** One at a time. Rejects unless the answer is 204. */
  async put(path: string, body: Buffer): Promise<void> {
    const head = `PUT ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n${this.#headers}content-length: ${body.length}${HEAD_END}`;
    await new Promise<void>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(Buffer.concat([Buffer.from(head), body]));
    });
  }

  close(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #hear(chunk: Buffer): void {
    this.#heard = this.#heard.length === 0 ? chunk : Buffer.concat([this.#heard, chunk]);
    const end = this.#heard.indexOf(HEAD_END);
    if (end === -1) return;
    const head = this.#heard.toString('latin1', 0, end);
    const length = Number(/\r\ncontent-length: *([0-9]+)/i.exec(head)?.[1] ?? 0);
    const body = this.#heard.subarray(end + HEAD_END.length);
    if (body.length < length) return;
    this.#heard = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (head.startsWith('HTTP/1.1 204')) waiting?.resolve();
    else waiting?.reject(new Error(`${this.#host} answered ${head.split('\r\n', 1)[0]}: ${body.toString()}`));
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** One for each client. */
export async function openConnections(
  url: string,
  clients: number,
  headers: Readonly<Record<string, string>>,
): Promise<readonly PutConnection[]> {
  return await Promise.all(Array.from({ length: clients }, () => PutConnection.open(url, headers)));
}
