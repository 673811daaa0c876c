/** Fields of what servers say to each other: the numbers of consensus, as their own types, configurations and entries. */

import { MalformedError } from '@holdfast/protocol';
import { HEAD_BYTES, bytes, integer, type Field } from '@holdfast/protocol/schema';

import {
  EntryType,
  MalformedConfigurationError,
  decodeConfiguration,
  logIndex,
  nextIndex,
  serverId,
  term,
  type Entry,
  type LogIndex,
  type ServerId,
  type Term,
} from '../core/index.ts';
import { decodeEntries, encodeEntries, entryBlockBytes } from '../log-store/format/entry-block.ts';

export const termField: Field<Term> = { ...integer(), read: (reader, name) => term(reader.integer(name)) };
export const indexField: Field<LogIndex> = { ...integer(), read: (reader, name) => logIndex(reader.integer(name)) };
export const serverField: Field<ServerId> = { ...integer(), read: (reader, name) => serverId(reader.integer(name)) };

/** Read as a view of the frame, as it came: the core takes for granted that it can read it. */
export function configurationBytes(maxLength: number): Field<Uint8Array> {
  return {
    ...bytes(maxLength),
    read: (reader, name) => checkedConfiguration(reader.bytes(name, maxLength)),
    shape: { kind: 'block', of: 'configuration', maxBytes: maxLength },
  };
}

/** The entries that follow the index in the field `previous`; their data are views of the frame. No entries are no bytes. */
export function entriesAfter(previous: string, maxBytes: number): Field<readonly Entry[]> {
  return {
    dependsOn: previous,
    write: (entries) => (entries.length === 0 ? NO_BYTES : encodeEntries(entries)),
    read: (reader, name, prevIndex: LogIndex) => {
      const block = reader.bytes(name, maxBytes);
      return block.length === 0 ? [] : checkedEntries(decodeEntries(block, nextIndex(prevIndex)));
    },
    size: (entries) => HEAD_BYTES + entryBlockBytes(entries),
    shape: { kind: 'block', of: 'entry block', maxBytes },
  };
}

const NO_BYTES = new Uint8Array(0);

/** The same entries. @throws MalformedError */
function checkedEntries(entries: readonly Entry[]): readonly Entry[] {
  for (const { type, data } of entries) if (type === EntryType.configuration) checkedConfiguration(data);
  return entries;
}

/** The same bytes. @throws MalformedError */
function checkedConfiguration(data: Uint8Array): Uint8Array {
  try {
    decodeConfiguration(data);
    return data;
  } catch (error) {
    if (error instanceof MalformedConfigurationError) throw new MalformedError(error.message);
    throw error;
  }
}
