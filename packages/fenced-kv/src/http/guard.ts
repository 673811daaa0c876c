/**
 * Which requests may come in at all. A web page in somebody's browser can send requests to this machine; it gives itself away
 * by its `Origin`, by `Sec-Fetch-Site` where it sends none (an image, a frame), or, where it has bound its own name to our
 * address, by the name in `Host`.
 */

import { isIP } from 'node:net';

export interface HostPolicy {
  /** Names and addresses without port that `Host` may carry. */
  readonly names: readonly string[];
  /** Any address (not name) passes too: for a server that listens on every interface. A rebound name is never an address. */
  readonly anyAddress: boolean;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '::1'] as const;

export function isLoopback(host: string): boolean {
  const name = unbracket(host).toLowerCase();
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** What a server that listens on `host` answers to. */
export function hostPolicy(host: string): HostPolicy {
  return { names: [...LOOPBACK_NAMES, unbracket(host).toLowerCase()], anyAddress: !isLoopback(host) };
}

/** `header` is the value of `Host`: name or address, with or without port. */
export function hostAllowed(policy: HostPolicy, header: string): boolean {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:]+))(?::[0-9]{1,5})?$/.exec(header);
  const host = (match?.groups?.['v6'] ?? match?.groups?.['name'] ?? '').toLowerCase();
  return policy.names.includes(host) || (policy.anyAddress && isIP(host) !== 0);
}

function unbracket(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
