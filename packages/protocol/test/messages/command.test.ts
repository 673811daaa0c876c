import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  CommandType,
  MAX_DATA_BYTES,
  MAX_LABEL_LENGTH,
  MAX_LOCK_NAME_LENGTH,
  MAX_PATH_LENGTH,
  MalformedError,
  commandName,
  createMode,
  decodeAttachRequest,
  decodeCommand,
  encodeAttachRequest,
  encodeCommand,
  isClientCommand,
  pack,
  type CommandName,
  type Packable,
} from '../../src/index.ts';
import { command } from '../support/arbitraries.ts';
import { hostileValues, rawString, rawTuple, withExtraField } from '../support/raw.ts';

/** Of clients and of the leader: a new command gets the first that is free, so these stay unknown for long. */
const LAST_NUMBERS = [62, 63, 126, 127];

const names = Object.keys(CommandType) as CommandName[];
const secret = new Uint8Array(16);
const hash = new Uint8Array(32);

describe('a command', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(command, (value) => {
        expect(plain(decodeCommand(value.type, encodeCommand(value)))).toEqual(plain(value));
      }),
      { numRuns: 500 },
    );
  });

  it('is read from where it begins, to the end of the bytes', () => {
    fc.assert(
      fc.property(command, fc.uint8Array({ maxLength: 50 }), (value, before) => {
        const bytes = Uint8Array.from([...before, ...encodeCommand(value)]);
        expect(plain(decodeCommand(value.type, bytes, before.length))).toEqual(plain(value));
      }),
    );
  });

  it('has no fields behind those that are known, since another server might not skip them', () => {
    const extra = fc.constantFrom(Uint8Array.of(1), Uint8Array.of(0xc0), pack([['new'], [1, [2]]]));
    fc.assert(
      fc.property(command, extra, (value, field) => {
        const bytes = withExtraField(Uint8Array.from(encodeCommand(value)), field);
        expect(() => decodeCommand(value.type, bytes)).toThrow(`${value.type} has 1 fields too many`);
      }),
    );
  });

  it('keeps its number', () => {
    expect(CommandType).toEqual({
      attach: 1,
      closeSession: 2,
      create: 3,
      set: 4,
      delete: 5,
      acquire: 6,
      release: 7,
      cancel: 8,
      transaction: 9,
      createNode: 10,
      setNode: 11,
      downgrade: 12,
      acquireSeveral: 13,
      revoke: 14,
      acquireWith: 15,
      requestRelease: 16,
      expireSession: 64,
      refuse: 65,
      raiseStateVersion: 66,
      continueEnd: 67,
      removeUnused: 68,
      endLockDelay: 69,
      enforceRelease: 70,
    });
    for (const name of names) expect(commandName(CommandType[name])).toBe(name);
    for (const type of [0, ...LAST_NUMBERS, 255, -1, 1.5]) expect(commandName(type)).toBeUndefined();
  });

  it('is taken from a client unless it is the leader’s', () => {
    for (const name of names) expect(isClientCommand(CommandType[name])).toBe(CommandType[name] < 64);
    for (const type of [0, 64, 255, -1, 1.5]) expect(isClientCommand(type)).toBe(false);
    // Who does not know one answers so.
    expect(LAST_NUMBERS.map((type) => isClientCommand(type))).toEqual([true, true, false, false]);
  });

  it('may ask for a kind of lock that only a later version has, since every version must read it alike', () => {
    const later = { type: 'acquire', lock: 'a', kind: 255, wait: true, parameters: [] } as const;
    expect(decodeCommand('acquire', encodeCommand(later))).toEqual(later);
    const parameters = [true, 7, -1, 'text', [false, []]];
    expect(plain(decodeCommand('acquire', encodeCommand({ ...later, parameters })))).toEqual(
      plain({ ...later, parameters }),
    );
  });

  it('may ask for a mode of a node that only a later version has, for the same reason', () => {
    const later = { type: 'create', path: '/a', data: Uint8Array.of(7), mode: 255 } as const;
    expect(plain(decodeCommand('create', encodeCommand(later)))).toEqual(plain(later));
  });

  it('keeps its bytes', () => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    expect(hex(encodeCommand({ type: 'acquire', lock: 'a/b', kind: 0, wait: true }))).toBe('94a3612f6200c390');
    expect(hex(encodeCommand({ type: 'release', lock: 'ü', acquireIndex: 300 }))).toBe('92a2c3bccd012c');
    const create = { type: 'create', path: '/a', data: Uint8Array.of(7) } as const;
    const modes = [[], ['ephemeral'], ['sequential'], ['ephemeral', 'sequential']].map((set) =>
      createMode({ ephemeral: set.includes('ephemeral'), sequential: set.includes('sequential') }),
    );
    expect(modes.map((mode) => hex(encodeCommand({ ...create, mode })))).toEqual(
      ['00', '01', '02', '03'].map((mode) => `93a22f61c40107${mode}`),
    );
    expect(hex(encodeCommand({ type: 'set', path: '/a', data: Uint8Array.of(7), version: -1 }))).toBe(
      '93a22f61c40107ff',
    );
  });
});

const path = '/'.padEnd(MAX_PATH_LENGTH + 1, 'x');
const data = new Uint8Array(MAX_DATA_BYTES + 1);
const lock = 'x'.repeat(MAX_LOCK_NAME_LENGTH + 1);
const wrong: readonly (readonly [CommandName, string, Packable])[] = [
  ['attach', 'secretHash must be 32 bytes', [new Uint8Array(31), 0, 10_000, '']],
  ['attach', 'secretHash must be at most 32 bytes', [new Uint8Array(33), 0, 10_000, '']],
  ['attach', 'secretHash must be a byte string', ['x'.repeat(32), 0, 10_000, '']],
  ['attach', 'session must be', [hash, -1, 10_000, '']],
  ['attach', 'timeoutMs must be from', [hash, 0, 999, '']],
  ['attach', 'timeoutMs must be from', [hash, 0, 120_001, '']],
  ['attach', 'timeoutMs must be a non-negative integer', [hash, 0, 1_000.5, '']],
  ['attach', 'label must be', [hash, 0, 10_000, 'x'.repeat(MAX_LABEL_LENGTH + 1)]],
  ['closeSession', 'session must be', ['1']],
  ['closeSession', 'session must be present', []],
  ['create', 'path must be at most', [path, secret, 3]],
  ['create', 'data must be at most', ['/a', data, 3]],
  ['create', 'mode must be from 0 to 255', ['/a', secret, 256]],
  ['create', 'mode must be a non-negative integer', ['/a', secret, true]],
  ['set', 'path must be', [['/a'], secret, 0]],
  ['set', 'data must be', ['/a', 'data', 0]],
  ['set', 'version must be', ['/a', secret, 0.5]],
  ['delete', 'path must be', [path, 0]],
  ['delete', 'version must be', ['/a', true]],
  ['acquire', 'lock must be', [lock, 0, true]],
  ['acquire', 'kind must be from 0 to 255', ['a', 256, true]],
  ['acquire', 'kind must be a non-negative integer', ['a', -1, true]],
  ['acquire', 'wait must be', ['a', 0, 1]],
  ['acquire', 'parameters is not a tuple', ['a', 0, true, 1]],
  ['acquire', 'parameters.value.value must be an integer', ['a', 0, true, [[1.5, 'x'], true]]],
  ['acquire', 'parameters must be at most 1024 bytes', ['a', 0, true, [new Uint8Array(1_024)]]],
  ['release', 'acquireIndex must be', ['a', -1]],
  ['cancel', 'acquireIndex must be present', ['a']],
  ['downgrade', 'acquireIndex must be', ['a', -1]],
  ['revoke', 'lock must be', [7, 1]],
  ['acquireSeveral', 'locks is not a tuple', ['a', true]],
  ['acquireSeveral', 'locks must be at most 64 elements', [Array.from({ length: 65 }, (_, at) => [`${at}`, 0]), true]],
  ['acquireSeveral', 'locks.lock.kind must be from 0 to 255', [[['a', 256]], true]],
  ['acquireSeveral', 'wait must be', [[['a', 0]], 1]],
  ['acquireWith', 'locks must be at most 64 elements', [Array.from({ length: 65 }, () => ['a', 0]), true, 0, false]],
  ['acquireWith', 'locks.lock.kind must be from 0 to 255', [[['a', 256]], true, 0, false]],
  ['acquireWith', 'lockDelayMs must be from 0 to 60000', [[['a', 0]], true, 60_001, false]],
  ['acquireWith', 'lockDelayMs must be a non-negative integer', [[['a', 0]], true, 0.5, false]],
  ['acquireWith', 'abortInDeadlock must be', [[['a', 0]], true, 0, 1]],
  ['acquireWith', 'abortInDeadlock must be', [[['a', 0]], true, 0]],
  ['requestRelease', 'acquireIndex must be', ['a', -1, 0, false]],
  ['requestRelease', 'withinMs must be from 0 to 86400000', ['a', 1, 86_400_001, false]],
  ['requestRelease', 'revokes must be', ['a', 1, 0, 1]],
  ['enforceRelease', 'request must be', ['a', 1, -1]],
  ['expireSession', 'generation must be', [1, 2 ** 53]],
  ['refuse', 'server must be', [-1]],
  ['raiseStateVersion', 'version must be', [-1]],
  ['continueEnd', 'session must be', [-1]],
  ['transaction', 'operations is not a tuple', ['all']],
  ['transaction', 'operations[] is not a tuple', [[1]]],
  ['transaction', 'operations[].type must be', [[['check', '/a', 0]]]],
  ['transaction', 'operations[].path must be at most', [[[1, path, 0]]]],
  ['transaction', 'operations[].version must be present', [[[1, '/a']]]],
  ['transaction', 'operations[].fields must be those that are known, not 1 more', [[[4, '/a', -1, 7]]]],
  ['transaction', 'operations[].data must be at most 1 elements', [[[3, '/a', [secret, secret], 0]]]],
  ['transaction', 'operations[].ttlMs must be', [[[2, '/a', [], 0, -1]]]],
  ['createNode', 'data must be at most 1 elements', ['/a', [secret, secret], 0, 0]],
  ['createNode', 'data.data must be a byte string', ['/a', ['text'], 0, 0]],
  ['createNode', 'data is not a tuple', ['/a', secret, 0, 0]],
  ['createNode', 'mode must be from 0 to 255', ['/a', [], 256, 0]],
  ['createNode', 'ttlMs must be', ['/a', [], 5, 1.5]],
  ['setNode', 'version must be', ['/a', [], '1']],
  ['removeUnused', 'nodes is not a tuple', [1]],
  ['removeUnused', 'nodes must be at most 1000 elements', [Array.from({ length: 1_001 }, () => ['/a', 1, 0])]],
  ['removeUnused', 'nodes.node.czxid must be', [[['/a', -1, 0]]]],
  ['endLockDelay', 'lock must be', [7, 1]],
  ['endLockDelay', 'index must be present', ['a']],
];

describe('what a client says to attach', () => {
  const wish = { secret: secret.fill(7), session: 0, timeoutMs: 10_000, label: 'worker ä', givesBack: false };

  it('comes back as it went, and keeps its bytes', () => {
    const bytes = encodeAttachRequest(wish);
    expect(plain(decodeAttachRequest(bytes))).toEqual(plain(wish));
    expect(Buffer.from(bytes).toString('hex')).toBe(`95c410${'07'.repeat(16)}00cd2710a9776f726b657220c3a4c2`);
  });

  it('may be that the session is to give something back, which an older client does not say', () => {
    expect(decodeAttachRequest(encodeAttachRequest({ ...wish, givesBack: true })).givesBack).toBe(true);
    expect(decodeAttachRequest(pack([secret, 0, 10_000, ''])).givesBack).toBe(false);
  });

  it('has a secret of 16 bytes', () => {
    for (const length of [15, 17]) {
      const bytes = encodeAttachRequest({ ...wish, secret: new Uint8Array(length) });
      expect(() => decodeAttachRequest(bytes)).toThrow(MalformedError);
    }
  });

  it('may have fields of a later version at its end, which no server puts into the log', () => {
    const bytes = withExtraField(Uint8Array.from(encodeAttachRequest(wish)), Uint8Array.of(1));
    expect(plain(decodeAttachRequest(bytes))).toEqual(plain(wish));
  });
});

describe('a payload that is not its command', () => {
  it.each(wrong)('%s: %s', (name, problem, tuple) => {
    const decode = () => decodeCommand(name, pack(tuple));
    expect(decode).toThrow(MalformedError);
    expect(decode).toThrow(`${name}.${problem}`);
  });

  it.each([...hostileValues])('is refused with %s, whatever the command', (_, value) => {
    for (const name of names) {
      expect(() => decodeCommand(name, value)).toThrow(MalformedError);
      expect(() => decodeCommand(name, rawTuple(value, value, value, value))).toThrow(MalformedError);
    }
  });

  it('is refused with malformed UTF-8, so that no two servers make two names of it', () => {
    const payload = rawTuple(rawString(0x61, 0xff), Uint8Array.of(0), Uint8Array.of(0xc3));
    expect(() => decodeCommand('acquire', payload)).toThrow('acquire.lock must be well-formed UTF-8');
  });
});

/** Byte strings compare by their bytes, whatever class they have. */
function plain(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, field instanceof Uint8Array ? [...field] : field]),
  );
}
