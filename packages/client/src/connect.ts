/** The way in: a session at the ensemble, on this machine's clocks and network. */

import { nodeRuntime } from '@holdfast/runtime/node';
import type { Client } from './client.ts';
import { openClient } from './open-client.ts';
import type { ConnectOptions } from './options.ts';
import type { ClientRuntime } from './session/session.ts';

/**
 * Connects to the ensemble and makes a session.
 *
 * Rejects with InvalidArgumentError for a wrong option, ConnectionError when no server answers within `connectTimeoutMs` or every
 * one refuses, what the ensemble refuses the session with, and the signal's reason.
 *
 * @param runtime the clocks, the network and the randomness to use; those of Node by default. Advanced: for simulations.
 */
export async function connect(options: ConnectOptions, runtime?: ClientRuntime): Promise<Client> {
  return await openClient(options, ({ logger }) => runtime ?? nodeRuntime({ logger }));
}
