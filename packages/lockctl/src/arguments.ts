/** Reads what users type: durations, server lists, versions. Each refusal says what is accepted. */

import { MAX_LOCK_DELAY_MS, MAX_PERMITS, MAX_TTL_MS, MIN_TTL_MS } from '@holdfast/protocol';
import { InvalidArgumentError } from 'commander';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** About 24 days, the longest time that a timer holds. */
const MAX_DURATION_MS = 2_147_483_647;

/** "500ms", "30s", "1.5s", "2m", "1h" or "0" as milliseconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  const unit = match?.[2] ?? (match !== null && Number(match[1]) === 0 ? 'ms' : undefined);
  if (match === null || unit === undefined) {
    throw new InvalidArgumentError('A duration is a number with a unit: 500ms, 30s, 2m, 1h; or 0.');
  }
  const durationMs = milliseconds(match[1], unit);
  if (durationMs > MAX_DURATION_MS) throw new InvalidArgumentError('It must be at most 24 days.');
  return durationMs;
}

/** For how long nobody is granted a lock whose holder was lost. */
export function parseLockDelay(text: string): number {
  const delayMs = parseDuration(text);
  if (delayMs > MAX_LOCK_DELAY_MS)
    throw new InvalidArgumentError(`A lock is delayed for at most ${MAX_LOCK_DELAY_MS / 1_000}s.`);
  return delayMs;
}

/** A whole number within bounds. */
export function parseCount(least: number, most: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (!/^\d+$/.test(text) || count < least || count > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return count;
  };
}

/** How a lock is to be held; `permits`: how many the semaphore has. */
export type LockMode =
  | { readonly type: 'exclusive' | 'read' | 'write' }
  | { readonly type: 'semaphore'; readonly permits: number };

/** "exclusive", "read", "write", or "semaphore=3". */
export function parseMode(text: string): LockMode {
  if (text === 'exclusive' || text === 'read' || text === 'write') return { type: text };
  const permits = Number(/^semaphore=(\d+)$/.exec(text)?.[1]);
  if (permits >= 1 && permits <= MAX_PERMITS) return { type: 'semaphore', permits };
  if (!Number.isNaN(permits)) throw new InvalidArgumentError(`A semaphore has from 1 to ${MAX_PERMITS} permits.`);
  const shared = text === 'shared' ? ' Those who share a lock say read.' : '';
  throw new InvalidArgumentError(
    `There is no such mode: it must be exclusive, read, write, or semaphore=N with as many permits as there are.${shared}`,
  );
}

/** How long a node lives: the same from 1 ms on, and days, since no timer runs for it. */
export function parseTtl(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  const ttlMs = milliseconds(match?.[1], match?.[2]);
  if (match === null || ttlMs < MIN_TTL_MS || ttlMs > MAX_TTL_MS) {
    throw new InvalidArgumentError(
      `A time to live is a number with a unit: 500ms, 30s, 2m, 1h, 7d; from 1ms to ${MAX_TTL_MS}ms.`,
    );
  }
  return ttlMs;
}

function milliseconds(number: string | undefined, unit: string | undefined): number {
  return Math.round(Number(number) * (UNITS_MS[unit ?? ''] ?? 1));
}

/** "host:port". */
export function parseAddress(text: string): string {
  const [address = '', ...more] = parseServers(text);
  if (more.length > 0) throw new InvalidArgumentError('It must be one address as host:port.');
  return address;
}

/** "host:port,host:port". */
export function parseServers(text: string): string[] {
  const servers = text
    .split(',')
    .map((server) => server.trim())
    .filter((server) => server !== '');
  if (servers.length === 0) throw new InvalidArgumentError('It must name at least one server as host:port.');
  for (const server of servers) {
    const port = Number(/^(?:\[[^\]]+\]|[^:[\]]+):(\d+)$/.exec(server)?.[1]);
    if (!(port >= 1 && port <= 65_535)) {
      throw new InvalidArgumentError(`"${server}" is not host:port with a port from 1 to 65535.`);
    }
  }
  return servers;
}

/** A node's version: a whole number, 0 or more. */
export function parseVersion(text: string): number {
  const version = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(version)) {
    throw new InvalidArgumentError('A version is a whole number, as "lockctl stat" shows it.');
  }
  return version;
}

/** A server's number. */
export function parseServerId(text: string): number {
  const id = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id) || id < 1) {
    throw new InvalidArgumentError('A server is named by its number, as "lockctl status" shows it.');
  }
  return id;
}

/** A session's id. */
export function parseSessionId(text: string): number {
  const id = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id) || id < 1) {
    throw new InvalidArgumentError('A session is named by its number, as "lockctl sessions" shows it.');
  }
  return id;
}

/** An index of the log, as of an event, or a token, which may have its zeros in front. */
export function parseIndex(text: string): number {
  const index = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(index) || index < 1) {
    throw new InvalidArgumentError(
      'That is not an index of the log: a whole number, as "lockctl watch", "stat" and "show" have it.',
    );
  }
  return index;
}
