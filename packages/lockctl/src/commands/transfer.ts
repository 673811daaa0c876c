/** `lockctl transfer`. */

import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';

/** `server` undefined: the best follower. */
export async function transferLeadership(
  client: OperatorClient,
  server: number | undefined,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const leader = await client.admin.transferLeadership(server);
  if (json) return writeJson(outside, { leader });
  outside.writeOut(`Server ${leader} leads.\n`);
}
