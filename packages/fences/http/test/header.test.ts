import { describe, expect, it } from 'vitest';
import {
  fenceExpress,
  fenceFastify,
  fenceHono,
  fenceNode,
  formatFencingToken,
  memoryFloors,
  parseFencingToken,
} from '../src/index.ts';

describe('the header Fencing-Token', () => {
  it.each([
    ['41', { token: 41, floor: 41 }],
    [' 41 ', { token: 41, floor: 41 }],
    ['0000000000000041', { token: 41, floor: 41 }],
    ['41; floor=39', { token: 41, floor: 39 }],
    ['41;floor=41', { token: 41, floor: 41 }],
    ['9007199254740991', { token: Number.MAX_SAFE_INTEGER, floor: Number.MAX_SAFE_INTEGER }],
    [undefined, undefined],
    [null, undefined],
  ])('may be %j', (value, expected) => {
    expect(parseFencingToken(value)).toEqual(expected);
  });

  it.each([
    '',
    '0',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    'NaN',
    '9007199254740992',
    '00000000000000041',
    '41, 42',
    '41;',
    '41; floor=42',
    '41; floor=0',
    '41; floor=-1',
    '41; Floor=1',
    '41; floor=1; floor=2',
    '٤١',
    'x'.repeat(10_000),
  ])('is not %j', (value) => {
    expect(() => parseFencingToken(value)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('comes once', () => {
    expect(() => parseFencingToken(['41', '41'])).toThrow(/"41, 41"/);
  });

  it('is written as it is read', () => {
    for (const holder of [{ token: 41 }, { token: 41, floor: 39 }, { token: 41, floor: 41 }]) {
      expect(parseFencingToken(formatFencingToken(holder))).toEqual({ token: 41, floor: holder.floor ?? 41 });
    }
    expect(() => formatFencingToken({ token: 0 })).toThrow(/no token/);
  });
});

describe('the options of a fence', () => {
  const floors = memoryFloors();
  const handler = (): void => undefined;

  it.each([
    undefined,
    null,
    {},
    { floors: {}, scope: 'jobs' },
    { floors, scope: '' },
    { floors, scope: 5 },
    { floors, scope: 'jobs', waitMs: 0 },
    { floors, scope: 'jobs', waitMs: '5' },
    { floors, scope: 'jobs', wait: 5 },
  ])('are not %j', (options) => {
    const wrong = options as { readonly floors: typeof floors; readonly scope: string };
    for (const make of [
      () => fenceNode(wrong, handler),
      () => fenceExpress(wrong, handler),
      () => fenceFastify(wrong, handler),
      () => fenceHono(wrong),
    ]) {
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });

  it.each([0, 1.5, '5'])('have no maxScopes %j', (maxScopes) => {
    expect(() => memoryFloors({ maxScopes: maxScopes as number })).toThrow(/maxScopes/);
  });
});
