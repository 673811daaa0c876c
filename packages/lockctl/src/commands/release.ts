/** `lockctl release`: a lock is taken away from its holder. */

import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';

export interface Revoked {
  readonly lock: string;
  readonly token: number;
  /** The acquire index of one of several holds under that token. */
  readonly hold: number | undefined;
}

export async function revokeHold(
  client: OperatorClient,
  { lock, token, hold }: Revoked,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const { index } = await client.admin.revoke(lock, token, hold === undefined ? {} : { hold });
  if (json) return writeJson(outside, { released: lock, token, fence: index });
  outside.writeOut(
    `Lock "${lock}" is not held under token ${token} any more; the next in its queue has it.\n` +
      `Its holder hears of it when the message arrives. To refuse its writes from now on, install token ${index} at what the lock protects.\n`,
  );
}
