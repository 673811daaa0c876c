/**
 * One request to a fenced-kvd and its answer, with a bound on its time. Failures come out as {@link FencedKvError}s that say
 * whether a write may have happened. Of a group, a request that certainly changed nothing is sent again (servers.ts).
 */

import { offAbort, onAbort } from '@holdfast/runtime';

import { CallLimit } from './call-limit.ts';
import {
  ChangesMissedError,
  FencedKvError,
  NotPrimaryError,
  PreconditionFailedError,
  StaleTokenError,
  TokenNotGrantedError,
  TokenNotInstalledError,
  TokenRequiredError,
} from './errors.ts';
import type { FollowOptions } from './follow-group.ts';
import type { Servers } from './servers.ts';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

export interface FencedKvOptions {
  /** @default the global `fetch` */
  readonly fetch?: Fetch;
  /** The bound on one call's answer, all its tries together; a write that had none may still happen. @default 10,000 */
  readonly timeoutMs?: number;
  /** Follows the group's configuration in its ensemble, until `close`. @default none: the replicas tell who is primary */
  readonly follow?: FollowOptions;
}

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is sent as it comes. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly signals: readonly AbortSignal[];
  /** Before it is sent again. Throws when the lock may be lost. */
  readonly assertHeld?: (() => void) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export interface TransportOptions {
  readonly servers: Servers;
  readonly timeoutMs: number;
  readonly fetch: Fetch;
}

/** An answer whose body is read by the caller, or given up with its `cancel`. */
export interface StreamedAnswer {
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array>;
}

/** The answer to a call that succeeded. */
export async function send(options: TransportOptions, call: Call): Promise<Answer> {
  return await exchange(options, call, async (response, limit) => {
    const body = new Uint8Array(await response.arrayBuffer());
    limit.end();
    return { status: response.status, headers: response.headers, body };
  });
}

/** The same, when its head has come. The time for the call is over then; its signals end the body, too. */
export async function sendForStream(options: TransportOptions, call: Call): Promise<StreamedAnswer> {
  return await exchange(options, call, async (response, limit, target) => {
    limit.endTime();
    const body = response.body ?? new Blob([]).stream();
    return { headers: response.headers, body: endingWith(body, call, limit, target) };
  });
}

type Succeeded<T> = (response: Response, limit: CallLimit, target: Target) => Promise<T>;

const EPOCH_HEADER = 'group-epoch';

async function exchange<T>(options: TransportOptions, call: Call, succeeded: Succeeded<T>): Promise<T> {
  const { servers, timeoutMs } = options;
  const endMs = performance.now() + timeoutMs;
  const reads = call.method === 'GET';
  const streamed = call.body instanceof ReadableStream;
  let leftMs = timeoutMs;
  for (;;) {
    const { url = await firstUrl(servers, leftMs, call) } = servers;
    leftMs = endMs - performance.now();
    const limitMs = reads ? Math.min(leftMs, timeoutMs * servers.shareOfRead) : leftMs;
    try {
      return await exchangeOnce({ url, timeoutMs: limitMs, fetch: options.fetch }, servers, call, succeeded);
    } catch (error) {
      if (!(error instanceof FencedKvError)) throw error;
      const pauseMs = servers.failed({ url, error, reads, streamed });
      leftMs = endMs - performance.now() - (pauseMs ?? 0);
      if (pauseMs === undefined || leftMs <= 0) throw error;
      await pause(pauseMs, servers, call.signals);
      call.assertHeld?.();
    }
  }
}

/** The first address of a group that is looked for at its ensemble. Rejects where there is none in time, or no such group. */
async function firstUrl(servers: Servers, leftMs: number, { signals, assertHeld }: Call): Promise<string> {
  const endMs = performance.now() + leftMs;
  for (;;) {
    const { url, absence } = servers;
    assertHeld?.();
    if (url !== undefined) return url;
    if (absence !== undefined && !absence.retryable) throw absence;
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted !== undefined) throw abortedError(aborted.reason, false);
    const waitMs = endMs - performance.now();
    if (waitMs <= 0) {
      throw (
        absence ??
        new FencedKvError('TIMEOUT', `the ensemble did not say within ${Math.round(leftMs)} ms where the group is`, {
          retryable: true,
        })
      );
    }
    await pause(waitMs, servers, signals);
  }
}

/** Ends early with news of who is primary, and with the call's signals: the next try says so. */
async function pause(ms: number, servers: Servers, signals: readonly AbortSignal[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    const forget = servers.onNews(done);
    for (const signal of signals) onAbort(signal, done);
    function done(): void {
      clearTimeout(timer);
      forget();
      for (const signal of signals) offAbort(signal, done);
      resolve();
    }
  });
}

/** Where one try goes. */
interface Target {
  readonly url: string;
  readonly timeoutMs: number;
  readonly fetch: Fetch;
}

async function exchangeOnce<T>(target: Target, servers: Servers, call: Call, succeeded: Succeeded<T>): Promise<T> {
  const aborted = call.signals.find((signal) => signal.aborted);
  if (aborted !== undefined) throw abortedError(aborted.reason, false);
  const limit = new CallLimit(target.timeoutMs, call.signals);
  const writes = call.method !== 'GET';
  const { epoch } = servers;
  let refused: Answer;
  try {
    const init = {
      method: call.method,
      headers: epoch === undefined ? (call.headers ?? {}) : { ...call.headers, [EPOCH_HEADER]: String(epoch) },
      body: call.body ?? null,
      redirect: 'error',
      signal: limit.signal,
      ...(call.body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
    } as const;
    const response = await target.fetch(`${target.url}${call.path}`, init);
    const answeredIn = response.headers.get(EPOCH_HEADER);
    if (answeredIn !== null && /^[0-9]{1,16}$/.test(answeredIn)) servers.answered(Number(answeredIn));
    if (response.status >= 200 && response.status < 300) return await succeeded(response, limit, target);
    const body = new Uint8Array(await response.arrayBuffer());
    refused = { status: response.status, headers: response.headers, body };
  } catch (error) {
    limit.end();
    throw transportError(error, call, limit, target, writes);
  }
  limit.end();
  throw answerError(refused, writes);
}

/** The body, whose failures are {@link FencedKvError}s, and whose end leaves nothing behind. */
function endingWith(
  body: ReadableStream<Uint8Array>,
  call: Call,
  limit: CallLimit,
  options: Target,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
        limit.end();
        controller.close();
      } catch (error) {
        limit.end();
        controller.error(transportError(error, call, limit, options, false));
      }
    },
    async cancel(reason) {
      limit.end();
      await reader.cancel(reason);
    },
  });
}

/** A field of a JSON answer that the interface promises. */
export function parseJson(answer: Answer): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(answer.body));
    if (typeof parsed === 'object' && parsed !== null) return parsed as Readonly<Record<string, unknown>>;
  } catch {
    // falls through: the answer is not from a fenced-kvd
  }
  throw new FencedKvError(
    'PROTOCOL',
    `the server answered ${answer.status} with a body that is not a JSON object; is it a fenced-kvd?`,
    {
      indeterminate: true,
    },
  );
}

function transportError(error: unknown, call: Call, limit: CallLimit, options: Target, writes: boolean): FencedKvError {
  const aborted = call.signals.find((signal) => signal.aborted);
  if (aborted !== undefined) return abortedError(aborted.reason, writes);
  if (limit.timedOut) {
    return new FencedKvError('TIMEOUT', `${options.url} did not answer within ${Math.round(options.timeoutMs)} ms`, {
      cause: error,
      retryable: true,
      indeterminate: writes,
    });
  }
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const refused = cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
  const what = refused ? 'nothing listens there; start fenced-kvd or correct the address' : describeError(cause);
  return new FencedKvError('CONNECTION', `no answer from ${options.url}: ${what}`, {
    cause: error,
    retryable: true,
    indeterminate: writes && !refused,
  });
}

function abortedError(reason: unknown, indeterminate: boolean): FencedKvError {
  const error = new FencedKvError('ABORTED', `the call was aborted: ${describeError(reason)}`, {
    cause: reason,
    indeterminate,
  });
  error.name = 'AbortError';
  return error;
}

function answerError(answer: Answer, writes: boolean): FencedKvError {
  const body = parseJson(answer);
  const message = typeof body['message'] === 'string' ? body['message'] : `the server answered ${answer.status}`;
  const presented = Number(body['presented']);
  const highest = Number(body['highest']);
  switch (body['code']) {
    case 'STALE_TOKEN':
      return new StaleTokenError(message, presented, highest);
    case 'MISSED':
      return new ChangesMissedError(message, Number(body['from']), Number(body['oldest']));
    case 'TOKEN_NOT_GRANTED':
      return new TokenNotGrantedError(message, presented, Number(body['newest']));
    case 'TOKEN_REQUIRED':
      return new TokenRequiredError(message);
    case 'TOKEN_NOT_INSTALLED':
      return new TokenNotInstalledError(message, presented, highest);
    case 'NOT_PRIMARY':
      return new NotPrimaryError(message, {
        primary: primaryOf(body['primary']),
        epoch: Number(body['epoch']),
        indeterminate: writes && body['indeterminate'] !== false,
      });
    case 'PRECONDITION_FAILED': {
      const { key, revision } = body;
      return new PreconditionFailedError(message, String(key), typeof revision === 'number' ? revision : null);
    }
    default: {
      const code = typeof body['code'] === 'string' ? body['code'] : 'PROTOCOL';
      // The server says so where it knows; a proxy's 5xx knows nothing.
      const indeterminate = typeof body['indeterminate'] === 'boolean' ? body['indeterminate'] : answer.status >= 500;
      return new FencedKvError(code, message, {
        retryable: answer.status === 503,
        indeterminate: writes && indeterminate,
      });
    }
  }
}

function primaryOf(value: unknown): NotPrimaryError['primary'] {
  if (typeof value !== 'object' || value === null || !('replica' in value) || !('url' in value)) return undefined;
  const { replica, url } = value;
  return typeof replica === 'string' ? { replica, url: typeof url === 'string' ? url : null } : undefined;
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
