/**
 * Sessions by the address of the client that made them here, so that one machine does not use up the sessions of all. A session counts
 * for as long as it lives, whoever is connected, or until it is attached at another server. Kept in memory: who makes sessions, has
 * this server restarted and makes more, meets the bound for all.
 */

import type { Reply } from '@holdfast/protocol';
import { MAX_SESSIONS_PER_ADDRESS } from '../limits.ts';
import { hostOf, isLoopback } from '../settings/address.ts';

const MAPPED = '::ffff:';

export class AddressSessions {
  readonly #max: number | undefined;
  readonly #hosts = new Map<number, string>();
  readonly #counts = new Map<string, number>();

  /** `max`: for every address; undefined is the default, and any number from a loopback address. */
  constructor(max: number | undefined) {
    this.#max = max;
  }

  /** Why a client at that address may make no session; undefined when it may. */
  refusal(remoteAddress: string): Reply | undefined {
    const host = clientHost(remoteAddress);
    const max = this.#max ?? (isLoopback(host) ? Infinity : MAX_SESSIONS_PER_ADDRESS);
    const count = this.#counts.get(host) ?? 0;
    if (count < max) return undefined;
    const problem = `${host} has made ${count} sessions at this server, at most ${max} (--max-sessions-per-address)`;
    return {
      type: 'error',
      code: 'LIMIT_EXCEEDED',
      message: `${problem}: close some, use one client for more locks, or raise the limit`,
    };
  }

  created(session: number, remoteAddress: string): void {
    const host = clientHost(remoteAddress);
    this.#hosts.set(session, host);
    this.#counts.set(host, (this.#counts.get(host) ?? 0) + 1);
  }

  /** It has ended, or is another server's now. */
  gone(session: number): void {
    const host = this.#hosts.get(session);
    if (host === undefined) return;
    this.#hosts.delete(session);
    const left = (this.#counts.get(host) ?? 0) - 1;
    if (left > 0) this.#counts.set(host, left);
    else this.#counts.delete(host);
  }

  /** Entries were skipped: those that `isHere` does not say of are gone. */
  keep(isHere: (session: number) => boolean): void {
    for (const session of this.#hosts.keys()) if (!isHere(session)) this.gone(session);
  }
}

/** Without what a socket for both families puts before an IPv4 address. */
function clientHost(remoteAddress: string): string {
  const host = hostOf(remoteAddress);
  return host.startsWith(MAPPED) ? host.slice(MAPPED.length) : host;
}
