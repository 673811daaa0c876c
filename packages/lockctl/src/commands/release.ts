/** `lockctl release NAME --token T`: an operator takes a hold away from its session, which lives on. */

import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { CommandFailure } from '../failure.ts';
import { writeJson } from '../output/json.ts';
import { printable } from '../output/text.ts';

export interface Revocation {
  readonly name: string;
  readonly token: number;
  /** Its acquire index, where several share the token. */
  readonly hold: number | undefined;
}

/** @throws CommandFailure when no hold is meant, or more than one */
export async function revokeHold(
  client: OperatorClient,
  { name, token, hold }: Revocation,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const { holders } = await client.admin.lock(name, {});
  const withToken = holders.filter((holder) => holder.token === token);
  const meant = hold === undefined ? withToken : withToken.filter(({ acquireIndex }) => acquireIndex === hold);
  const [place, another] = meant;
  const lock = `lock "${printable(name)}"`;
  if (place === undefined) {
    const which = hold === undefined ? '' : ` and acquire ${hold}`;
    throw new CommandFailure(`no hold of ${lock} has token ${token}${which}; see who holds it with "lockctl show"`);
  }
  if (another !== undefined) {
    const acquires = meant.map(({ acquireIndex }) => acquireIndex).join(', ');
    throw new CommandFailure(
      `${meant.length} holds of ${lock} share token ${token}; name one with --hold: ${acquires}`,
    );
  }
  const { session, label, acquireIndex } = place;
  const fence = await client.admin.revoke(name, { session, acquireIndex });
  if (json) return writeJson(outside, { lock: name, session, acquireIndex, token: fence });
  const who = `session ${session}${label === '' ? '' : ` (${printable(label)})`}`;
  outside.writeOut(
    `The hold of ${lock} is taken from ${who}. It may not know yet: tell the resource token ${fence}, which refuses it.\n`,
  );
}
