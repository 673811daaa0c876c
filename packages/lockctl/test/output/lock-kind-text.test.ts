import { choice, integer, later, message, messages } from '@holdfast/protocol/schema';
import { describe, expect, it } from 'vitest';

import { isMutex, kindText, parametersText } from '../../src/output/lock-kind-text.ts';

const kinds = messages('kind of lock', {
  mutex: message(0, {}),
  shared: message(1, { mode: choice(['read', 'write']), permits: later(integer(), 1) }),
});

describe('the kind of a lock', () => {
  it('is a mutex where the server names none', () => {
    expect([isMutex(undefined), isMutex(0), isMutex(1)]).toEqual([true, true, false]);
    expect(kindText(undefined)).toBe('mutex');
  });

  it('is shown by its name, and by its number where only a later version has it', () => {
    expect(kindText(1, kinds)).toBe('shared');
    expect(kindText(7, kinds)).toBe('7 (of a later version)');
    expect(kindText(7)).toBe('7 (of a later version)');
  });
});

describe('the kinds of this version', () => {
  it('are shown in words, and so is what was asked of them', () => {
    expect([0, 1, 2].map((kind) => kindText(kind))).toEqual(['mutex', 'read-write', 'semaphore']);
    expect(parametersText(1, [true])).toBe('write');
    expect(parametersText(1, [false])).toBe('read');
    expect(parametersText(2, [3, 5])).toBe('permits=3, limit=5');
    expect(parametersText(2, [3])).toBe('3');
  });
});

describe('what was asked of a lock', () => {
  it('is nothing to show without parameters', () => {
    expect(parametersText(0)).toBe('');
    expect(parametersText(1, [], kinds)).toBe('');
  });

  it('is shown by the names of its fields, with what a shorter request means', () => {
    expect(parametersText(1, [1, 3], kinds)).toBe('mode=write, permits=3');
    expect(parametersText(1, [0], kinds)).toBe('mode=read, permits=1');
  });

  it('is shown as it came where a later version has appended something', () => {
    expect(parametersText(1, [0, 2, 'x y'], kinds)).toBe('mode=read, permits=2, "x y"');
  });

  it('is shown as it came where the kind is not known, or its parameters are not what this version knows', () => {
    expect(parametersText(7, [5, 'blue'], kinds)).toBe('5, blue');
    expect(parametersText(1, [9, 3], kinds)).toBe('9, 3');
    expect(parametersText(1, ['read'], kinds)).toBe('read');
  });
});
