/** Parsing and printing of `host:port`. Used by both networks; no name is resolved here. */

/** `host:port`; IPv6 hosts in brackets. */
export type Address = string;

export interface AddressParts {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Throws a TypeError that says what is wrong with the text. */
export function parseAddress(address: Address): AddressParts {
  const match = /^(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port <= 65_535)) {
    throw new TypeError(
      `"${address}" is not an address: expected host:port with a port from 0 to 65535, IPv6 hosts in brackets`,
    );
  }
  return { host, port };
}

export function formatAddress(host: string, port: number): Address {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
