/** From options to a connected operator's client, in whichever world it is given. */

import { openInTime, type RuntimeFor } from '../open-client.ts';
import { OperatorClient } from './operator-client.ts';
import { resolveOperatorOptions, type OperatorOptions } from './operator-options.ts';

export async function openOperator(options: OperatorOptions, runtimeFor: RuntimeFor): Promise<OperatorClient> {
  const resolved = resolveOperatorOptions(options);
  resolved.signal?.throwIfAborted();
  const runtime = runtimeFor(resolved);
  const client = new OperatorClient(resolved, runtime);
  await openInTime(client.asker, resolved, runtime);
  return client;
}
