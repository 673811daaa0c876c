/** Entries of the Raft log as lines that people read: what each would do, and for whom. */

import { commandName, decodeCommand, MalformedError } from '@holdfast/protocol';
import { EntryType, type Entry } from '@holdfast/raft';
import { decodeEntryHeader, entryPayload } from '@holdfast/state';

import type { LogLine } from '../history/log-line.ts';

/** Of a value in a command: what is longer is cut. */
const MAX_VALUE = 60;

export function logLineOf({ index, term, type, data }: Entry): LogLine {
  if (type === EntryType.noop) return { index, term, text: 'first entry of a new leader' };
  if (type === EntryType.configuration) return { index, term, text: 'members of the ensemble' };
  const { session, number, command: code } = decodeEntryHeader(data);
  const name = commandName(code);
  if (name === undefined) return { index, term, text: `command ${code} of session ${session}` };
  const who = session === 0 ? '' : `session ${session}, request ${number}: `;
  return { index, term, text: `${who}${name}${fieldsOf(name, data)}` };
}

/** A session's secret is in none: an attach is told by its name alone. */
function fieldsOf(name: Parameters<typeof decodeCommand>[0], data: Uint8Array): string {
  if (name === 'attach') return '';
  try {
    const { type: _type, ...fields } = decodeCommand(name, entryPayload(data));
    return Object.entries(fields)
      .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
      .map(([field, value]) => ` ${field}=${valueText(value)}`)
      .join('');
  } catch (error) {
    if (error instanceof MalformedError) return ' (malformed)';
    throw error;
  }
}

function valueText(value: unknown): string {
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  const written = typeof text === 'string' && /^[\w/.-]+$/.test(text) ? text : (JSON.stringify(text) ?? 'nothing');
  return written.length > MAX_VALUE ? `${written.slice(0, MAX_VALUE)}…` : written;
}
