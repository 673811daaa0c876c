/** From options to a connected client, in whichever world it is given. */

import { offAbort, onAbort } from '@holdfast/runtime';
import { Client } from './client.ts';
import { resolveOptions, type ConnectOptions, type ResolvedOptions } from './options.ts';
import type { ClientRuntime } from './session/session.ts';

/** Longer ones make Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export async function openClient(
  options: ConnectOptions,
  runtimeFor: (options: ResolvedOptions) => ClientRuntime,
): Promise<Client> {
  const resolved = resolveOptions(options);
  const { signal, connectTimeoutMs } = resolved;
  signal?.throwIfAborted();
  const runtime = runtimeFor(resolved);
  const client = new Client(resolved, runtime);
  const { session } = client;
  const timer = runtime.clock.setTimer(Math.min(connectTimeoutMs, MAX_TIMER_MS), () => session.abandon());
  const abandon = (reason: unknown): void => session.abandon(reason);
  if (signal !== undefined) onAbort(signal, abandon);
  try {
    await session.open();
    return client;
  } finally {
    timer.cancel();
    if (signal !== undefined) offAbort(signal, abandon);
  }
}
