/**
 * One request to a fenced-kvd and its answer, with a bound on its time. Failures come out as {@link FencedKvError}s that say
 * whether a write may have happened. It never retries.
 */

import { offAbort, onAbort } from '@holdfast/runtime';
import {
  FencedKvError,
  PreconditionFailedError,
  StaleTokenError,
  TokenNotGrantedError,
  TokenNotInstalledError,
  TokenRequiredError,
} from './errors.ts';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signals: readonly AbortSignal[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export interface TransportOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly fetch: Fetch;
}

/** The answer to a call that succeeded. */
export async function send(options: TransportOptions, call: Call): Promise<Answer> {
  const aborted = call.signals.find((signal) => signal.aborted);
  if (aborted !== undefined) throw abortedError(aborted.reason, false);
  const limit = new CallLimit(options.timeoutMs, call.signals);
  const writes = call.method !== 'GET';
  let answer: Answer;
  try {
    const response = await options.fetch(`${options.url}${call.path}`, {
      method: call.method,
      headers: call.headers ?? {},
      body: call.body ?? null,
      redirect: 'error',
      signal: limit.signal,
    });
    const body = new Uint8Array(await response.arrayBuffer());
    answer = { status: response.status, headers: response.headers, body };
  } catch (error) {
    throw transportError(error, call, limit, options, writes);
  } finally {
    limit.end();
  }
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw answerError(answer, writes);
}

/** Longer ones make Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The time and the signals that end one call, as one signal of its own. `AbortSignal.timeout` and `any` would do the same, and stay
 * behind: 2.4 KB a call for as long as the limit, and some for as long as the caller's signal lives.
 */
class CallLimit {
  timedOut = false;
  readonly #aborter = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #abort = (reason: unknown): void => this.#aborter.abort(reason);
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number, signals: readonly AbortSignal[]) {
    this.#signals = signals;
    for (const signal of signals) onAbort(signal, this.#abort);
    this.#timer = setTimeout(
      () => {
        this.timedOut = true;
        this.#aborter.abort();
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** Leaves neither a timer nor a listener behind. */
  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) offAbort(signal, this.#abort);
  }
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

function transportError(
  error: unknown,
  call: Call,
  limit: CallLimit,
  options: TransportOptions,
  writes: boolean,
): FencedKvError {
  const aborted = call.signals.find((signal) => signal.aborted);
  if (aborted !== undefined) return abortedError(aborted.reason, writes);
  if (limit.timedOut) {
    return new FencedKvError('TIMEOUT', `${options.url} did not answer within ${options.timeoutMs} ms`, {
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
    case 'TOKEN_NOT_GRANTED':
      return new TokenNotGrantedError(message, presented, Number(body['newest']));
    case 'TOKEN_REQUIRED':
      return new TokenRequiredError(message);
    case 'TOKEN_NOT_INSTALLED':
      return new TokenNotInstalledError(message, presented, highest);
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

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
