/** Addresses as `host:port`, IPv6 hosts in brackets, and which hosts are this machine alone. */

import type { Address } from '@holdfast/runtime';

/** Undefined when the address is valid; otherwise what is wrong with it. Port 0, any free one, is only for listening. */
export function addressProblem(address: Address, use: 'listen' | 'dial'): string | undefined {
  const colon = address.lastIndexOf(':');
  if (colon <= 0 || /[\s/@]/.test(address)) return 'must be host:port, nothing before or behind it';
  const host = address.slice(0, colon);
  if (host.startsWith('[') !== host.endsWith(']') || (!host.startsWith('[') && host.includes(':'))) {
    return 'must have its IPv6 host in brackets, as in [::1]:7101';
  }
  const port = address.slice(colon + 1);
  const lowest = use === 'listen' ? 0 : 1;
  const valid = /^\d{1,5}$/.test(port) && Number(port) >= lowest && Number(port) <= 65_535;
  return valid ? undefined : `must have a port from ${lowest} to 65535`;
}

/** Without brackets. */
export function hostOf(address: Address): string {
  const host = address.slice(0, address.lastIndexOf(':'));
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * The hosts that a request to a server may name, so that no web page reaches it under a name of its own. Undefined, any host,
 * for a server that listens on every address of its machine: it cannot know them.
 */
export function hostsOf(listen: Address, advertised: Address): readonly string[] | undefined {
  const host = hostOf(listen);
  if (isWildcard(host)) return undefined;
  const hosts = new Set(['localhost', '127.0.0.1', '::1', '[::1]']);
  for (const each of [host, hostOf(advertised)]) {
    hosts.add(each);
    if (each.includes(':')) hosts.add(`[${each}]`);
  }
  return [...hosts];
}
