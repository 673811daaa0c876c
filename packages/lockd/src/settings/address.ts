/** Addresses as `host:port`, IPv6 hosts in brackets, and which hosts are this machine alone. */

import type { Address, AllowedHosts } from '@holdfast/runtime';

/** Undefined when the address is valid; otherwise what is wrong with it. Port 0, any free one, and all of a machine's addresses are only for listening. */
export function addressProblem(address: Address, use: 'listen' | 'dial'): string | undefined {
  const colon = address.lastIndexOf(':');
  if (colon <= 0 || /[\s/@]/.test(address)) return 'must be host:port, nothing before or behind it';
  const host = address.slice(0, colon);
  if (host.startsWith('[') !== host.endsWith(']') || (!host.startsWith('[') && host.includes(':'))) {
    return 'must have its IPv6 host in brackets, as in [::1]:7101';
  }
  if (use === 'dial' && isWildcard(hostOf(address))) {
    return 'stands for every address of a machine, which nobody can dial: name one that others reach';
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

/** Every address of a machine: to listen on, and nowhere to dial. */
export function isWildcard(host: string): boolean {
  return host === '*' || /^(?:::ffff:|0x)?[0:.]+$/i.test(host);
}

/**
 * What a request to a server may name as its host, so that no web page reaches it under a name of its own. A server that listens on every
 * address of its machine does not know them: any address will do, which a page's name never is.
 */
export function hostsOf(listen: Address, advertised: Address, others: readonly string[]): AllowedHosts {
  const host = hostOf(listen);
  const names = ['localhost', '127.0.0.1', '::1', host, hostOf(advertised), ...others];
  return { names: [...new Set(names)], anyAddress: isWildcard(host) };
}

/** Undefined for what a `Host` header can name beside a port: a name, or an address. */
export function hostProblem(host: string): string | undefined {
  const isName = /^[\w-]+(?:\.[\w-]+)*\.?$/.test(host);
  const isIpv6 = /^\[?[\da-f]*:[\da-f.]*:[\da-f:.]*\]?$/i.test(host);
  return isName || isIpv6 ? undefined : 'must be a name or an address without a port, as in locks.example.com';
}
