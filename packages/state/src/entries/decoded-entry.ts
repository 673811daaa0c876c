/**
 * What an entry of the log says, before any of it is done: its header, checked, the command that it names, and, when asked for, the
 * command itself. What this program does not know stops it here, while nothing has changed.
 */

import {
  commandName,
  decodeCommand,
  isClientCommand,
  MalformedError,
  MAX_PATH_LENGTH,
  unpackTuple,
  type Command,
  type CommandName,
} from '@holdfast/protocol';

import { errorReply, type ErrorReply } from '../replies.ts';
import { decodeEntryHeader, headerProblem, payloadStart, type StampedHeader } from './entry.ts';
import { UnsupportedEntryError } from './unsupported-entry-error.ts';

export interface DecodedEntry {
  readonly header: StampedHeader;
  /** Undefined for a client's command that this program does not know. */
  readonly name: CommandName | undefined;
  readonly bytes: Uint8Array;
  /** Where in them the payload begins. */
  readonly start: number;
}

/** @throws UnsupportedEntryError when this program cannot apply the entry */
export function decodeEntry(index: number, entry: Uint8Array, latest: number): DecodedEntry {
  let header: StampedHeader;
  let start: number;
  try {
    header = decodeEntryHeader(entry);
    start = payloadStart(entry);
  } catch (cause) {
    throw new UnsupportedEntryError(index, `is malformed (${(cause as Error).message})`, { cause });
  }
  const problem = headerProblem(header);
  if (problem !== undefined) throw new UnsupportedEntryError(index, problem);
  const name = commandName(header.command);
  if (name === undefined && !isClientCommand(header.command))
    throw new UnsupportedEntryError(index, `has the unknown command number ${header.command}`);
  const decoded = { header, name, bytes: entry, start };
  if (name === 'raiseStateVersion') requireKnownVersion(index, decoded, latest);
  return decoded;
}

function requireKnownVersion(index: number, decoded: DecodedEntry, latest: number): void {
  const command = commandOrError('raiseStateVersion', decoded);
  if (command.type !== 'raiseStateVersion' || command.version <= latest) return;
  const known = `this program knows state versions up to ${latest}`;
  throw new UnsupportedEntryError(index, `raises the state version to ${command.version}, and ${known}`);
}

/** Of the commands that every version has. */
function beginsWithPath(name: CommandName): boolean {
  return name === 'create' || name === 'set' || name === 'delete';
}

/**
 * A payload that is not what its command's must be is answered like any other bad argument.
 *
 * @param maxPathLength where an earlier version has a lower limit: what is over that is answered in that version's words
 */
export function commandOrError(
  name: CommandName,
  { bytes, start }: DecodedEntry,
  maxPathLength = MAX_PATH_LENGTH,
): Command | ErrorReply {
  try {
    if (maxPathLength < MAX_PATH_LENGTH && bytes.length - start > maxPathLength && beginsWithPath(name))
      unpackTuple(bytes, name, start).string('path', maxPathLength);
    return decodeCommand(name, bytes, start);
  } catch (error) {
    return malformedReply(error);
  }
}

/** @throws what is no MalformedError */
export function malformedReply(error: unknown): ErrorReply {
  if (!(error instanceof MalformedError)) throw error;
  return errorReply('INVALID_ARGUMENT', error.message);
}
