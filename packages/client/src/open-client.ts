/** From options to a connected client, in whichever world it is given. */

import { offAbort, onAbort } from '@holdfast/runtime';
import { Client } from './client.ts';
import { resolveOptions, type ConnectOptions, type ResolvedOptions } from './options.ts';
import type { ClientRuntime } from './session/session.ts';

/** Longer ones make Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export type RuntimeFor = (options: ResolvedOptions) => ClientRuntime;

export async function openClient(options: ConnectOptions, runtimeFor: RuntimeFor): Promise<Client> {
  const resolved = resolveOptions(options);
  resolved.signal?.throwIfAborted();
  return await openResolved(resolved, runtimeFor(resolved));
}

export async function openResolved(options: ResolvedOptions, runtime: ClientRuntime): Promise<Client> {
  const client = new Client(options, runtime);
  await openInTime(client.session, options, runtime);
  return client;
}

/** Within `connectTimeoutMs`, and until the signal aborts. */
export async function openInTime(
  opening: { open(): Promise<void>; abandon(error?: unknown): void },
  { signal, connectTimeoutMs }: ResolvedOptions,
  { clock }: ClientRuntime,
): Promise<void> {
  const timer = clock.setTimer(Math.min(connectTimeoutMs, MAX_TIMER_MS), () => opening.abandon());
  const abandon = (reason: unknown): void => opening.abandon(reason);
  if (signal !== undefined) onAbort(signal, abandon);
  try {
    await opening.open();
  } finally {
    timer.cancel();
    if (signal !== undefined) offAbort(signal, abandon);
  }
}
