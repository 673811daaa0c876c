/** A plain HTTP request between simulated hosts: the listener's own rules and handler, without sockets. */

import { parseAddress } from '../../address.ts';
import { answer, plain, refusalOf } from '../../http-rules.ts';
import { DialError } from '../../network.ts';
import type { Address, HttpResponse } from '../../network.ts';
import { listenerFor, ownName } from './network.ts';
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
  /** @default 5_000 */
  readonly timeoutMs?: number;
}

/** Rejects with {@link DialError} when no answer comes. */
export function httpRequest(
  process: SimProcess,
  from: NetworkHost,
  network: SimNetwork,
  address: Address,
  request: SimHttpRequest,
): Promise<HttpResponse> {
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
    const fail = (error: DialError) => {
      timeout.cancel();
      reject(error);
    };
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timeout = process.schedule(toTicks(timeoutMs), 'timer', 'http-timeout', () => {
      fail(new DialError('timeout', `cannot ask ${address}: no answer within ${timeoutMs} ms`));
    });
    const respond = (response: HttpResponse) => {
      back.push('http-response', response.body.length, () => {
        timeout.cancel();
        resolve(response);
      });
    };
    const reset = () => {
      back.push('reset', 0, () => fail(new DialError('failed', `cannot ask ${address}: the connection was reset`)));
    };
    there.push('http-request', 0, () => {
      if (there.link.dials === 'hanging') return there.link.struck.count('dial-hung');
      const listener = listenerFor(there.link, from, target, port);
      if (listener === undefined) {
        const error = new DialError('refused', `cannot ask ${address}: nothing listens there`);
        back.push('refused', 0, () => fail(error));
        return;
      }
      const removeDeathHook = listener.process.onDeath(reset);
      listener.process.deliver('io', 'http', () => {
        void serve(listener, address, request).then((response) => {
          removeDeathHook();
          // After its death the hook has reset the connection.
          if (listener.process.alive) respond(response);
        });
      });
    });
  });
}

async function serve(listener: SimListener, address: Address, request: SimHttpRequest): Promise<HttpResponse> {
  const { options, logger } = listener;
  const { target, method = 'GET', hostHeader = address, originHeader } = request;
  const head = { upgrade: false, method, hostHeader, originHeader, fetchSiteHeader: undefined };
  const refusal = refusalOf(head, options.allowedHosts);
  if (refusal !== undefined) return refusal.response;
  try {
    return await answer(options.http?.bind(options), { method, target });
  } catch (error) {
    logger.error({ err: error, method, target }, 'an HTTP request failed');
    return plain(500, 'internal error; the log of the server has more');
  }
}
