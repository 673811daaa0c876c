/**
 * A resource behind HTTP: `PUT` with the header Fencing-Token writes, `GET` reads. 2xx is taken, and 409, 412 and 428 are refusals.
 * One connection that is kept, so that two of them are two streams of requests.
 */

import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';

import { outcomeOf, type Connection, type Outcome } from './resource.ts';

/** Where to connect instead, for a request that is held back on its way. */
export interface Detour {
  readonly host: string;
  readonly port: number;
}

export interface UrlFence {
  readonly url: string;
  readonly installUrl?: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

const REFUSALS: readonly number[] = [409, 412, 428];
/** An answer that is longer is no value of ours. */
const SHOWN_OF_BODY = 200;

export function openUrl({ url, installUrl }: UrlFence, timeoutMs: number, detour?: Detour): Connection {
  const agents = new Map<string, HttpAgent>();
  const agentFor = ({ protocol }: URL): HttpAgent => {
    const found = agents.get(protocol);
    if (found !== undefined) return found;
    const agent = new (protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
    agents.set(protocol, agent);
    return agent;
  };
  const send = async (
    method: string,
    target: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer> => {
    const to = new URL(target);
    return await exchange(
      to,
      { method, headers, agent: agentFor(to), ...(detour === undefined ? {} : past(to, detour)) },
      timeoutMs,
      body,
    );
  };
  const write = async (
    value: string,
    token: string | undefined,
    refusals: (status: number) => boolean,
  ): Promise<Outcome> =>
    await attempt(
      refusals,
      async () => await send('PUT', url, { 'content-type': 'application/octet-stream', ...tokenHeader(token) }, value),
    );
  return {
    write: async (value, token) => await write(value, String(token), isStale),
    writeUnfenced: async (value, token) => await write(value, token, isClientError),
    read: async () => {
      const { status, body } = await send('GET', url, {});
      if (status === 404) return null;
      if (isSuccess(status)) return body;
      throw new Error(`GET was answered ${status}: ${body.slice(0, SHOWN_OF_BODY)}`);
    },
    ...(installUrl === undefined
      ? {}
      : {
          install: async (token: number) =>
            await attempt(
              isStale,
              async () =>
                await send(
                  'POST',
                  installUrl,
                  { 'content-type': 'application/json', ...tokenHeader(String(token)) },
                  JSON.stringify({ token }),
                ),
            ),
        }),
    close: async () => {
      for (const agent of agents.values()) agent.destroy();
      await Promise.resolve();
    },
  };
}

async function attempt(isRefused: (status: number) => boolean, call: () => Promise<Answer>): Promise<Outcome> {
  try {
    const { status, body } = await call();
    if (isSuccess(status)) return { type: 'taken' };
    return {
      type: isRefused(status) ? 'refused' : 'unknown',
      message: `answered ${status}: ${body.slice(0, SHOWN_OF_BODY)}`,
    };
  } catch (error) {
    return outcomeOf(error);
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isStale(status: number): boolean {
  return REFUSALS.includes(status);
}

function isClientError(status: number): boolean {
  return status >= 400 && status < 500;
}

function tokenHeader(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { 'fencing-token': token };
}

/** The resource still sees its own name. */
function past(to: URL, { host, port }: Detour): RequestOptions & { readonly servername?: string } {
  // An address cannot be asked for by name.
  return { host, port, ...(isIP(to.hostname) === 0 ? { servername: to.hostname } : {}) };
}

/** Asks once more where the server had closed the idle connection, as it may have while its holder was paused. */
async function exchange(to: URL, options: RequestOptions, timeoutMs: number, body?: string): Promise<Answer> {
  try {
    return await exchangeOnce(to, options, timeoutMs, body);
  } catch (error) {
    if (!(error instanceof ClosedWhileIdleError)) throw error;
    return await exchangeOnce(to, options, timeoutMs, body);
  }
}

class ClosedWhileIdleError extends Error {}

function exchangeOnce(to: URL, options: RequestOptions, timeoutMs: number, body?: string): Promise<Answer> {
  const headers = {
    ...(options.headers as Record<string, string>),
    host: to.host,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  };
  return new Promise((resolve, reject) => {
    const request = (to.protocol === 'https:' ? httpsRequest : httpRequest)(to, { ...options, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    request.once('close', () => clearTimeout(timer));
    request.once('error', (error: NodeJS.ErrnoException) => {
      reject(request.reusedSocket && error.code === 'ECONNRESET' ? new ClosedWhileIdleError(error.message) : error);
    });
    request.end(body);
  });
}
