/** What works demand of the ensemble. */

import { HoldfastError, type Client, type OperatorClient } from '@holdfast/client';
import { expect } from 'vitest';
import { until } from '../lockd-process.ts';

type Asks = Pick<Client | OperatorClient, 'admin'>;

/** The code of the error with which it was refused. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof HoldfastError) return error.code;
  throw error ?? new Error('it was not refused');
}

/** Awaited later: a failure that comes before is told then, or with what fails first. */
export function pending<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Resolves when these sessions wait for the lock, in this order. */
export async function waitersBecome(client: Asks, lock: string, sessions: readonly number[]): Promise<void> {
  let seen: readonly number[] = [];
  await until(async () => {
    seen = (await client.admin.lock(lock)).waiters.map(({ session }) => session);
    return seen.length === sessions.length && seen.every((session, n) => session === sessions[n]);
  }).catch((cause: unknown) => {
    throw new Error(`sessions ${sessions.join(', ')} should wait for ${lock}, and ${seen.join(', ')} do`, { cause });
  });
}

/** Resolves when nobody holds or waits: what was given up in the background, too, has arrived. */
export async function lockIsFree(client: Asks, lock: string): Promise<void> {
  await until(async () => {
    const { holders, waiters } = await client.admin.lock(lock);
    return holders.length + waiters.length === 0;
  }).catch((cause: unknown) => {
    throw new Error(`somebody holds ${lock} or waits for it, and nobody should`, { cause });
  });
}

/** Resolves when the client itself knows of no hold and no wait. */
export async function ownsNothing(client: Client): Promise<void> {
  await until(() => client.status().holds + client.status().waits === 0).catch((cause: unknown) => {
    const { holds, waits } = client.status();
    throw new Error(`session ${client.sessionId} has ${holds} holds and ${waits} waits that nobody owns`, { cause });
  });
}

/** Each is higher than the one before: no two grants of a lock share a token, and their order is that of the grants. */
export function expectRising(tokens: readonly number[], count: number): void {
  const falls = tokens.flatMap((token, n) => (token > (tokens[n - 1] ?? 0) ? [] : [[n, tokens[n - 1], token]]));
  expect(falls, 'grants whose token is not above the one before').toEqual([]);
  expect(tokens.length, 'grants').toBe(count);
}

export function textOf(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}
