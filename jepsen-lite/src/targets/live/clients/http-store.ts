/**
 * The fenced store over HTTP, with what only a harness asks: whether a call that failed has left at all. It has not before the connection
 * was made. What the store refuses is told as it says it.
 */

import { Agent, request, type IncomingMessage } from 'node:http';
import {
  UnansweredError,
  UnreachableError,
  type Store,
  type StoreAnswer,
  type StoreCall,
} from '../../../workloads/store.ts';

const CALL_TIMEOUT_MS = 3_000;
const NO_VALUE = new Set(['KEY_NOT_FOUND', 'BUCKET_NOT_FOUND']);

interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

export class HttpStore implements Store {
  readonly #address: string;
  readonly #agent = new Agent({ keepAlive: true });

  /** `address`: host and port. */
  constructor(address: string) {
    this.#address = address;
  }

  async call(call: StoreCall): Promise<StoreAnswer> {
    const { status, body } = await this.#send(messageOf(call));
    if (status >= 200 && status < 300) return call.op === 'get' ? { ok: true, value: body } : { ok: true };
    return refusalOf(call, status, body);
  }

  close(): void {
    this.#agent.destroy();
  }

  #send({ method, path, headers, body }: Message): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let left = false;
      const url = `http://${this.#address}${path}`;
      const sent = request(url, { method, headers: { ...headers }, agent: this.#agent, timeout: CALL_TIMEOUT_MS });
      const fail = (error: Error): void => {
        const why = `${method} ${url}: ${error.message}`;
        reject(left ? new UnansweredError(why) : new UnreachableError(why));
      };
      sent.on('socket', (socket) => {
        if (!socket.connecting) left = true;
        else socket.once('connect', () => (left = true));
      });
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${CALL_TIMEOUT_MS} ms`)));
      sent.on('error', fail);
      sent.on(
        'response',
        (response) =>
          void textOf(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text }), fail),
      );
      sent.end(body);
    });
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function messageOf(call: StoreCall): Message {
  const bucket = `/v1/buckets/${encodeURIComponent(call.bucket)}`;
  const token: Record<string, string> = call.token === undefined ? {} : { 'fencing-token': String(call.token) };
  switch (call.op) {
    case 'fence': {
      const headers = { 'content-type': 'application/json' };
      return { method: 'POST', path: `${bucket}/fence`, headers, body: JSON.stringify({ token: call.token }) };
    }
    case 'get':
      return { method: 'GET', path: `${bucket}/keys/${encodeURIComponent(call.key)}`, headers: token, body: undefined };
    case 'put': {
      const headers = { ...token, 'content-type': 'application/octet-stream' };
      return { method: 'PUT', path: `${bucket}/keys/${encodeURIComponent(call.key)}`, headers, body: call.value };
    }
  }
}

/** Exported for its test. */
export function refusalOf(call: StoreCall, status: number, body: string): StoreAnswer {
  let fields: { readonly code?: unknown; readonly highest?: unknown; readonly indeterminate?: unknown } = {};
  try {
    fields = JSON.parse(body) as typeof fields;
  } catch {
    // Not from the store: what it did nobody knows.
  }
  const code = typeof fields.code === 'string' ? fields.code : `HTTP_${status}`;
  if (call.op === 'get' && NO_VALUE.has(code)) return { ok: true, value: null };
  const known = typeof fields.indeterminate === 'boolean' ? fields.indeterminate : status >= 500;
  const highest = code === 'STALE_TOKEN' && typeof fields.highest === 'number' ? { highest: fields.highest } : {};
  return { ok: false, code, ...highest, indeterminate: known && call.op !== 'get' };
}
