/** A plain HTTP request between simulated hosts: the listener's own rules and handler, without sockets. */

import { formatAddress, parseAddress } from '../../network/address.ts';
import { answer, plain, refusalOf } from '../../network/http-rules.ts';
import { DialError } from '../../network/network.ts';
import { isStreamBody } from '../../network/http.ts';
import type { HttpResponse, HttpStreamBody, HttpTextResponse } from '../../network/http.ts';
import type { Address } from '../../network/address.ts';
import { FIRST_EPHEMERAL_PORT, listenerFor, ownName } from './network.ts';
import type { NetworkHost, SimListener, SimNetwork } from './network.ts';
import { Pipe } from './pipe.ts';
import type { SimProcess } from '../process.ts';
import { toTicks } from '../scheduler.ts';

const DEFAULT_TIMEOUT_MS = 5_000;

export interface SimHttpRequest {
  /** Path and query. */
  readonly target: string;
  /** @default 'GET' */
  readonly method?: string;
  /** @default the address, as browsers do */
  readonly hostHeader?: string;
  readonly originHeader?: string;
  /** Further ones, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @default none */
  readonly body?: Uint8Array;
  /** Hears the pieces of an answer that is made piece by piece; false ends it. @default they are gathered */
  readonly piece?: (text: string) => boolean;
  /** @default 5_000 */
  readonly timeoutMs?: number;
}

/** The answer with all of its body; rejects with {@link DialError} when none comes. */
export function httpRequest(
  process: SimProcess,
  from: NetworkHost,
  network: SimNetwork,
  address: Address,
  request: SimHttpRequest,
): Promise<HttpTextResponse> {
  const { host: name, port } = parseAddress(address);
  const target = ownName(from, name) === 'no' ? network.host(name) : from;
  if (target === undefined) {
    return Promise.reject(new DialError('failed', `cannot ask ${address}: there is no host "${name}"`));
  }
  const [forth, home] = [network.link(from.name, target.name), network.link(target.name, from.name)];
  const there = new Pipe(forth, home);
  const back = new Pipe(home, forth);
  back.setReceiver(process);
  return new Promise((resolve, reject) => {
    let gone = false;
    const fail = (error: DialError) => {
      gone = true;
      timeout.cancel();
      reject(error);
    };
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timeout = process.schedule(toTicks(timeoutMs), 'timer', 'http-timeout', () => {
      fail(new DialError('timeout', `cannot ask ${address}: no answer within ${timeoutMs} ms`));
    });
    const reset = () => {
      back.push('reset', 0, () => fail(new DialError('failed', `cannot ask ${address}: the connection was reset`)));
    };
    const sendPieces = async (pieces: HttpStreamBody, response: HttpResponse): Promise<void> => {
      let heard = '';
      const end = (): void => {
        gone = true;
        resolve({ ...response, body: heard });
      };
      for await (const piece of pieces) {
        if (gone) return;
        const text = textOf(piece);
        back.push('http-piece', text.length, () => {
          if (gone) return;
          heard += text;
          if (request.piece?.(text) === false) end();
        });
      }
      back.push('http-end', 0, end);
    };
    /** `left` is called when the last of it is on its way, or the client is gone. */
    const respond = (response: HttpResponse, left: () => void) => {
      const { body } = response;
      if (isStreamBody(body)) {
        back.push('http-response', 0, () => timeout.cancel());
        void sendPieces(body, response).then(left, reset);
        return;
      }
      const text = textOf(body);
      back.push('http-response', text.length, () => {
        timeout.cancel();
        resolve({ ...response, body: text });
      });
      left();
    };
    there.push('http-request', request.body?.length ?? 0, () => {
      if (there.link.dials === 'hanging') return there.link.struck.count('dial-hung');
      const listener = listenerFor(there.link, from, target, port);
      if (listener === undefined) {
        const error = new DialError('refused', `cannot ask ${address}: nothing listens there`);
        back.push('refused', 0, () => fail(error));
        return;
      }
      const removeDeathHook = listener.process.onDeath(reset);
      listener.process.deliver('io', 'http', () => {
        void serve(listener, { from: from.name, address, request }).then((response) => {
          // After its death the hook has reset the connection.
          if (listener.process.alive) respond(response, removeDeathHook);
        });
      });
    });
  });
}

interface Asked {
  readonly from: string;
  readonly address: Address;
  readonly request: SimHttpRequest;
}

async function serve(listener: SimListener, { from, address, request }: Asked): Promise<HttpResponse> {
  const { options, logger } = listener;
  const { target, method = 'GET', hostHeader = address, originHeader, headers = {}, body } = request;
  const { maxHttpBodyBytes = 0 } = options;
  const head = { upgrade: false, method, hostHeader, originHeader, fetchSiteHeader: headers['sec-fetch-site'] };
  const refusal = refusalOf(head, options);
  if (refusal !== undefined) return refusal.response;
  if (maxHttpBodyBytes > 0 && (body?.length ?? 0) > maxHttpBodyBytes) {
    return plain(413, `the body of a request has at most ${maxHttpBodyBytes} bytes`);
  }
  const asked = {
    method,
    target,
    headers: new Map([['host', hostHeader], ...Object.entries(headers)]),
    body: maxHttpBodyBytes > 0 && body !== undefined ? body.slice() : new Uint8Array(),
    remoteAddress: formatAddress(from, FIRST_EPHEMERAL_PORT),
    peerIdentity: undefined,
  };
  try {
    return await answer(options.http?.bind(options), asked);
  } catch (error) {
    logger.error({ err: error, method, target }, 'an HTTP request failed');
    return plain(500, 'internal error; the log of the server has more');
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body);
}
