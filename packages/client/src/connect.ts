/** The ways in, on this machine's clocks and network: a session at the ensemble, or an operator's questions. */

import { nodeRuntime } from '@holdfast/runtime/node';
import type { Client } from './client.ts';
import { openClient } from './open-client.ts';
import { openOperator } from './operator/open-operator.ts';
import type { OperatorClient } from './operator/operator-client.ts';
import type { OperatorOptions } from './operator/operator-options.ts';
import { threadNetwork } from './heartbeat-thread/thread-network.ts';
import type { ConnectOptions, ResolvedOptions } from './options.ts';
import { warnOfLongWaits } from './process/warn-of-long-waits.ts';
import type { ClientRuntime } from './session/session.ts';

/**
 * Connects to the ensemble and makes a session.
 *
 * Rejects with InvalidArgumentError for a wrong option, ConnectionError when no server answers within `connectTimeoutMs` or every
 * one refuses (with `failFast` as soon as none can be reached), what the ensemble refuses the session with, and the signal's reason.
 *
 * @param runtime the clocks, the network and the randomness to use; those of Node by default. Advanced: for simulations.
 *
 * @example
 * const client = await connect({ servers: ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7103'] });
 */
export async function connect(options: ConnectOptions, runtime?: ClientRuntime): Promise<Client> {
  const client = await openClient(options, (resolved) => runtime ?? ownRuntime(resolved));
  if (options.logger === undefined && runtime === undefined) warnOfLongWaits(client.events);
  return client;
}

function ownRuntime({ logger, sessionTimeoutMs, maxStallMs }: ResolvedOptions): ClientRuntime {
  const runtime = nodeRuntime({ logger });
  if (maxStallMs === 0) return runtime;
  return { ...runtime, network: threadNetwork(runtime.network, { sessionTimeoutMs, maxStallMs }) };
}

/**
 * Connects an operator, who needs no session: reads are answered while the servers' disks are almost full, with `stale` also where nobody
 * leads, and what gives something back gets through where a quorum lives.
 *
 * Rejects with InvalidArgumentError for a wrong option; ConnectionError when no server answers within `connectTimeoutMs` or every one
 * refuses, and with the code NO_LEADER as soon as every server has been tried and those that answer know no leader (not with
 * `stale`); and the signal's reason.
 *
 * @param runtime as for `connect`
 *
 * @example
 * const operator = await connectOperator({ servers: ['127.0.0.1:7101'], stale: true });
 * console.log(await operator.admin.members());
 * await operator.close();
 */
export async function connectOperator(options: OperatorOptions, runtime?: ClientRuntime): Promise<OperatorClient> {
  return await openOperator(options, ({ logger }) => runtime ?? nodeRuntime({ logger }));
}
