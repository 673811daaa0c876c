/** A write over HTTP that is sent in two halves, as a slow network or a slow program does: what lies between them is when the writer is stopped. */

import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';

export class SlowWrite {
  readonly value: string;
  readonly #request: ClientRequest;
  readonly #rest: string;

  private constructor(sending: ClientRequest, value: string, rest: string) {
    this.value = value;
    this.#request = sending;
    this.#rest = rest;
  }

  /** Resolves when the head and the first half have been given to the network. Without a token it carries none. */
  static async begin(url: string, value: string, token: number | undefined): Promise<SlowWrite> {
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': Buffer.byteLength(value),
      ...(token !== undefined && { 'fencing-token': String(token) }),
    };
    const sending = request(url, { method: 'PUT', headers });
    const half = Math.ceil(value.length / 2);
    await new Promise<void>((resolve, reject) => {
      sending.once('error', reject);
      sending.write(value.slice(0, half), () => resolve());
    });
    return new SlowWrite(sending, value, value.slice(half));
  }

  /** Sends the rest, and resolves with the answer. */
  async end(): Promise<{ readonly status: number; readonly body: string }> {
    const answered = once(this.#request, 'response') as Promise<[IncomingMessage]>;
    this.#request.end(this.#rest);
    const [response] = await answered;
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += String(chunk);
    return { status: response.statusCode ?? 0, body };
  }
}
