/**
 * `lockctl release` and `lockctl end-delay`: a lock is taken away from its holder, or its holder is asked for it; and it is granted before the
 * delay of one who was lost is over.
 */

import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';
import { printable } from '../output/text.ts';

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
    `Lock "${lock}" is not held under token ${token} any more; the next in its queue gets it, after its delay if it has one.\n` +
      `Its holder hears of it when the message arrives. To refuse its writes from now on, install token ${index} at what the lock protects.\n`,
  );
}

export interface Asked extends Revoked {
  readonly withinMs: number;
  readonly atDeadline: 'revoke' | 'leave';
}

export async function askForHold(
  client: OperatorClient,
  { lock, token, hold, withinMs, atDeadline }: Asked,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const request = { withinMs, atDeadline };
  await client.admin.requestRelease(lock, token, hold === undefined ? request : { ...request, hold });
  if (json) return writeJson(outside, { asked: lock, token, withinMs, atDeadline });
  const end = atDeadline === 'revoke' ? 'then it is taken away' : 'then it stays where it is';
  outside.writeOut(
    `Whoever holds lock "${printable(lock)}" under token ${token} is asked to release it within ${withinMs / 1_000} s; ${end}.\n` +
      'See what becomes of it with "lockctl show".\n',
  );
}

export async function endDelay(
  client: OperatorClient,
  lock: string,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const { index } = await client.admin.endLockDelay(lock);
  if (json) return writeJson(outside, { ended: lock, fence: index });
  outside.writeOut(
    `Lock "${lock}" is not delayed any more; the next in its queue has it.\n` +
      `To refuse what the lost holder may still write, install token ${index} at what the lock protects.\n`,
  );
}
