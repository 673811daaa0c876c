/** Asking a server how it is, over plain TCP or HTTP; every failure is "it did not say". */

import { connect } from 'node:net';

const TIMEOUT_MS = 2_000;

/** Everything that the server sends until it closes; undefined when it cannot be reached or says nothing. */
export function askTcp(address: string, request: string): Promise<string | undefined> {
  const [host = '', port = ''] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: TIMEOUT_MS });
    let text = '';
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text === '' ? undefined : text));
  });
}

export async function askHttp(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

/** The value of a metric without labels, in Prometheus' text format. */
export function metricOf(text: string | undefined, name: string): number | null {
  const line = text
    ?.split('\n')
    .find((candidate) => candidate.startsWith(`${name} `) || candidate.startsWith(`${name}{`));
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ') + 1));
}

/** Null as soon as one is. */
export function sum(values: readonly (number | null)[]): number | null {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return total;
}

/** Of those that are known. */
export function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
