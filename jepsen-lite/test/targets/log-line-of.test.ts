import { CommandType, encodeCommand, type Command } from '@holdfast/protocol';
import { EntryType, logIndex, term, type Entry } from '@holdfast/raft';
import { encodeEntry } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { logLineOf } from '../../src/targets/log-line-of.ts';

const at = { index: logIndex(7), term: term(3) };

function entryOf(command: Command, payload = encodeCommand(command)): Entry {
  const header = { command: CommandType[command.type], generation: 1, session: 5, number: 9, ackedUpTo: 0 };
  return { ...at, type: EntryType.command, data: encodeEntry(header, payload) };
}

describe('an entry of the log as a line', () => {
  it('says what was asked for, and by whom', () => {
    const set = { type: 'set', path: '/a', data: new TextEncoder().encode('two words'), version: -1 } as const;
    expect(logLineOf(entryOf(set))).toEqual({
      index: 7,
      term: 3,
      text: 'session 5, request 9: set path=/a data="two words" version=-1',
    });
  });

  it('tells an entry without a command by what it is for', () => {
    const entry = { ...at, type: EntryType.noop, data: new Uint8Array() };
    expect(logLineOf(entry).text).toBe('first entry of a new leader');
  });

  it('says that a payload cannot be read', () => {
    const release = { type: 'release', lock: 'a', acquireIndex: 1 } as const;
    expect(logLineOf(entryOf(release, new Uint8Array([0xc1]))).text).toBe('session 5, request 9: release (malformed)');
  });
});
