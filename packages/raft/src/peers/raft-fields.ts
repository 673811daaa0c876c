/** Fields of what servers say to each other: the numbers of consensus, as their own types, and configurations. */

import { MalformedError } from '@holdfast/protocol';
import { bytes, integer, type Field } from '@holdfast/protocol/schema';

import {
  MalformedConfigurationError,
  decodeConfiguration,
  logIndex,
  serverId,
  term,
  type LogIndex,
  type ServerId,
  type Term,
} from '../core/index.ts';

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

/** The same bytes. @throws MalformedError */
export function checkedConfiguration(data: Uint8Array): Uint8Array {
  try {
    decodeConfiguration(data);
    return data;
  } catch (error) {
    if (error instanceof MalformedConfigurationError) throw new MalformedError(error.message);
    throw error;
  }
}
