/** Who locks: a client named by the operation or its value, otherwise the process. A session that expires frees what its owner holds. */

import type { Operation, Value } from '../history/operations/operation.ts';
import { keyOfValue } from '../history/operations/operation.ts';
import type { Action } from './model.ts';

export const EXPIRE = 'expire';

export function ownerOf({ client, input, output }: Operation): string {
  return clientIn(output) ?? clientIn(input) ?? client;
}

/**
 * What an acquire leaves: its owner has it. As long as the owner neither releases it nor is seen to have it, that does nothing but keep
 * others from what they would do: whatever is done beside it can be done without it. An end of the owner's session leaves the same.
 */
export function heldBy(owner: string): string {
  return owner;
}

/** `expire` names the owner whose session is over, or means that of its own process. */
export function expireAction<State>(operation: Operation, free: (state: State, owner: string) => State): Action<State> {
  const { input } = operation;
  const owner = input === null ? operation.client : (clientIn(input) ?? nameOf(input));
  return {
    text: `saw the session of ${owner} expire`,
    observes: false,
    same: `${EXPIRE} ${owner}`,
    sees: [],
    step: (state) => free(state, owner),
  };
}

/** Names as texts, numbers as they are written, so that client 3 is process 3. */
function nameOf(value: Value): string {
  return typeof value === 'string' ? value : keyOfValue(value);
}

function clientIn(value: Value): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { client } = value as Readonly<Record<string, Value>>;
  return client === undefined || client === null ? undefined : nameOf(client);
}
