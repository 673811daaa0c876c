import { describe, expect, it } from 'vitest';

import { entryText, EntryType, logIndex, term } from '../../src/core/index.ts';

describe('the text of a command', () => {
  it.each([
    ['is the command, where it can be printed and is short', Buffer.from('x=1'), '3·2=x=1'],
    ['is its bytes, where it cannot be printed', Uint8Array.of(1, 120, 10), '3·2=1,120,10'],
    ['is its bytes, where it is long', new Uint8Array(65).fill(120), `3·2=${Array(65).fill(120).join()}`],
    ['is nothing, where it is empty', new Uint8Array(0), '3·2='],
  ])('%s', (_, data, text) => {
    expect(entryText({ index: logIndex(3), term: term(2), type: EntryType.command, data })).toBe(text);
  });
});
