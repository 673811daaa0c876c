/** An entry as the servers make it, with what it means. */

import {
  CommandType,
  decodeCommand,
  encodeCommand,
  MalformedError,
  type Command,
  type CommandName,
} from '@holdfast/protocol';
import { encodeEntry, ENTRY_HEADER_BYTES, LATEST_STATE_VERSION } from '@holdfast/state';

import type { Input, RequestInput } from '../observation/input.ts';
import type { Sent } from './client.ts';
import { choose } from './pools.ts';

export interface Entry {
  readonly input: Input;
  /** Not yet stamped. Undefined: one of Raft's own. */
  readonly bytes: Uint8Array | undefined;
  /** Of a request. */
  readonly sent?: Sent;
}

export type RequestHeader = Omit<RequestInput, 'type' | 'name' | 'command'>;

export const NOOP: Entry = { input: { type: 'noop' }, bytes: undefined };

export function payloadOf(command: Command): Sent {
  return sentAs(command.type, encodeCommand(command));
}

export function sentAs(name: CommandName, payload: Uint8Array): Sent {
  return { name, type: CommandType[name], payload };
}

export function requestEntry(header: RequestHeader, sent: Sent): Entry {
  const { via, session, generation, number, ackedUpTo } = header;
  const { name, type, payload } = sent;
  const input: Input = {
    type: 'request',
    via,
    session,
    generation,
    number,
    ackedUpTo,
    name,
    command: name === undefined ? undefined : decoded(name, payload),
  };
  const bytes = encodeEntry({ command: type, session, generation, number, ackedUpTo }, payload);
  return { input, bytes, sent };
}

export function attachEntry(server: number, correlation: number, payload: Uint8Array): Entry {
  const command = decoded('attach', payload);
  const header = { command: CommandType.attach, generation: 0, session: 0, number: correlation, ackedUpTo: 0 };
  return {
    input: { type: 'attach', server, correlation, command: command?.type === 'attach' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

export function expireEntry(payload: Uint8Array): Entry {
  const command = decoded('expireSession', payload);
  const header = { command: CommandType.expireSession, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return {
    input: { type: 'expire', command: command?.type === 'expireSession' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

export function continueEntry(payload: Uint8Array): Entry {
  const command = decoded('continueEnd', payload);
  const header = { command: CommandType.continueEnd, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return {
    input: { type: 'continue', command: command?.type === 'continueEnd' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

export function unusedEntry(payload: Uint8Array): Entry {
  const command = decoded('removeUnused', payload);
  const header = { command: CommandType.removeUnused, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return {
    input: { type: 'unused', command: command?.type === 'removeUnused' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

export function endDelayEntry(payload: Uint8Array): Entry {
  const command = decoded('endLockDelay', payload);
  const header = { command: CommandType.endLockDelay, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return {
    input: { type: 'endDelay', command: command?.type === 'endLockDelay' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

export function enforceEntry(payload: Uint8Array): Entry {
  const command = decoded('enforceRelease', payload);
  const header = { command: CommandType.enforceRelease, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return {
    input: { type: 'enforce', command: command?.type === 'enforceRelease' ? command : undefined },
    bytes: encodeEntry(header, payload),
  };
}

/** To a version that the machine does not know: what a later version of the program might write. */
export function raiseEntry(payload: Uint8Array): Entry {
  const decodedCommand = decoded('raiseStateVersion', payload);
  const command = decodedCommand?.type === 'raiseStateVersion' ? decodedCommand : undefined;
  const header = { command: CommandType.raiseStateVersion, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  const bytes = encodeEntry(header, payload);
  if (command === undefined || command.version <= LATEST_STATE_VERSION)
    return { input: { type: 'raise', command }, bytes };
  return { input: { type: 'unsupported', what: `that raises the state version to ${command.version}` }, bytes };
}

/** An entry that a later version might write: the same bytes but for one of the fields that decide what they mean. */
export function unsupportedEntry(entry: Entry, flavour: number): Entry {
  const bytes = new Uint8Array(entry.bytes ?? new Uint8Array(ENTRY_HEADER_BYTES));
  const [what, offset, value] = choose(UNSUPPORTED, flavour);
  if (offset === undefined) return { input: { type: 'unsupported', what }, bytes: bytes.subarray(0, value) };
  bytes[offset] = value;
  return { input: { type: 'unsupported', what }, bytes };
}

/** What is altered: a byte at an offset, or (`undefined`) the length. */
type Alteration = readonly [what: string, offset: number | undefined, value: number];
const UNSUPPORTED: readonly [Alteration, ...Alteration[]] = [
  ['of format version 2', 0, 2],
  ['with command number 99', 1, 99],
  ['of group 1', 2, 1],
  ['cut within its header', undefined, ENTRY_HEADER_BYTES - 1],
  ['with identities beyond its end', 43, 1],
];

function decoded(name: CommandName, payload: Uint8Array): Command | undefined {
  try {
    return decodeCommand(name, payload);
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
