/** The side of whoever holds the lock: requests that carry its token, and answers that become errors. */

import { checkHolder, FenceError, StaleTokenError, type Holder } from '@holdfast/fence';
import { Cutoff, messageOf } from '@holdfast/fence/adapter';
import { formatFencingToken } from './header.ts';

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Of an answer that is an error. */
const MAX_ERROR_BYTES = 65_536;

/**
 * `fetch` for a holder: it asks `holder.assertHeld`, sends the header `Fencing-Token`, and ends when `holder.signal` aborts. Other options and
 * answers are those of `fetch`.
 *
 * Rejects with StaleTokenError for an answer 412 of a fence, with FenceError TOKEN_REQUIRED for 428 of one, and ABORTED where the holder's signal
 * aborts; with CONNECTION where there is no answer: `indeterminate`, since the service may have got the request, unless the method is GET or HEAD.
 *
 * @param fetch @default that of the process
 *
 * @example
 * const fenced = fencedFetch(held);
 * await fenced('http://jobs.internal/jobs/42', { method: 'PUT', body: 'running' });
 */
export function fencedFetch(holder: Holder, fetch: Fetch = globalThis.fetch): Fetch {
  checkHolder(holder);
  return async (input, init = {}) => {
    holder.assertHeld?.();
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set('Fencing-Token', formatFencingToken(holder));
    const given = init.signal ?? (input instanceof Request ? input.signal : undefined);
    const cutoff = new Cutoff([holder.signal, given]);
    const method = (init.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    try {
      const response = await fetch(input, { ...init, headers, signal: cutoff.signal });
      if (response.status === 412 || response.status === 428) await throwRefusal(response, holder.token);
      return response;
    } catch (error) {
      throw failureOf(error, cutoff.signal, given?.aborted === true, ['GET', 'HEAD'].includes(method));
    } finally {
      cutoff.end();
    }
  };
}

function failureOf(error: unknown, signal: AbortSignal, byCaller: boolean, safe: boolean): unknown {
  // The caller's own signal rejects as it does with fetch.
  if (error instanceof FenceError || byCaller) return error;
  const indeterminate = !safe;
  const end = safe ? '' : ': the service may have got the request';
  if (signal.aborted) {
    const text = `the lock was lost before the answer came${end}`;
    return new FenceError('ABORTED', text, { indeterminate, cause: signal.reason });
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = `the service did not answer (${messageOf(cause)})${end}`;
  return new FenceError('CONNECTION', text, { indeterminate, cause: error });
}

/** Returns where the answer is not one of a fence. The answer stays unread for the caller. */
async function throwRefusal(response: Response, token: number): Promise<void> {
  if (Number(response.headers.get('content-length') ?? 0) > MAX_ERROR_BYTES) return;
  const copy = response.clone();
  const body: unknown = await copy.json().catch(() => undefined);
  if (typeof body !== 'object' || body === null || !('code' in body)) return;
  const { code, scope, highest, message } = body as Readonly<Record<string, unknown>>;
  if (code === 'STALE_TOKEN' && typeof highest === 'number') {
    throw new StaleTokenError(typeof scope === 'string' ? scope : new URL(response.url).pathname, token, highest);
  }
  if (code === 'TOKEN_REQUIRED') {
    throw new FenceError('TOKEN_REQUIRED', typeof message === 'string' ? message : 'the service takes no such request');
  }
}
