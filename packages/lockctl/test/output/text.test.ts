import { constantFrom, array, assert, asyncProperty, integer, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { writeJson } from '../../src/output/json.ts';
import { reportFailure } from '../../src/failure.ts';
import { runLockctl } from '../../src/program.ts';
import { renderTable } from '../../src/output/table.ts';
import { printable } from '../../src/output/text.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

/** What a terminal obeys, and what nobody sees; written down once more, and not by the properties that the program asks for. */
const UNSAFE: readonly (readonly [first: number, last: number])[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xa0, 0xa0],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

const isUnsafe = (character: string): boolean => {
  const point = character.codePointAt(0) ?? 0;
  return UNSAFE.some(([first, last]) => point >= first && point <= last);
};
/** But for line breaks, which an output may have of its own. */
const unsafeIn = (output: string): string[] =>
  Array.from(output).filter((character) => character !== '\n' && isUnsafe(character));

const unsafeCharacter = oneof(...UNSAFE.map(([min, max]) => integer({ min, max }))).map((point) =>
  String.fromCodePoint(point),
);
const lookingLikeEscapes = constantFrom('\\', '\\u200b', '\\u{e0041}', 'u', '{', ' ', 'é', '日', '🔒');
const hostile = array(oneof(unsafeCharacter, lookingLikeEscapes, string({ maxLength: 3 })), { maxLength: 12 }).map(
  (parts) => parts.join(''),
);

describe('text that servers tell', () => {
  it('is shown without anything that acts on a terminal or cannot be seen', () => {
    assert(
      property(hostile, (text) => {
        expect(unsafeIn(printable(text))).toEqual([]);
        expect(printable(text)).not.toContain('\n');
        expect(unsafeIn(renderTable(['NAME'], [[text]]))).toEqual([]);
        expect(unsafeIn(reportFailure(new Error(text)).message)).toEqual([]);
        expect(unsafeIn(reportFailure(new CodedError('OVERLOADED', text)).message)).toEqual([]);
      }),
    );
  });

  it('looks different where it is different', () => {
    expect(printable('plain\u200block')).toBe('plain\\u200block');
    expect(printable('plain\\u200block')).toBe('plain\\u005cu200block');
    expect(printable('a\u{e0041}b')).toBe('a\\u{e0041}b');
    expect(printable('C:\\locks')).toBe('C:\\locks');
    assert(
      property(hostile, hostile, (one, other) => {
        expect(printable(one) === printable(other)).toBe(one === other);
      }),
    );
  });

  it('is in JSON what it was, in ASCII escapes where it could do harm', () => {
    assert(
      property(hostile, (text) => {
        const outside = new FakeEnvironment();
        writeJson(outside, { [text]: [text] });
        expect(unsafeIn(outside.output)).toEqual([]);
        expect(JSON.parse(outside.output)).toEqual({ [text]: [text] });
      }),
    );
  });

  it('is left as it is where it is only unusual', () => {
    for (const text of ['plain lock', 'schloß', 'замок', '锁', 'قفل', 'e\u0301', '🔒'])
      expect(printable(text)).toBe(text);
  });
});

const COMMANDS: readonly (readonly string[])[] = [
  ['status'],
  ['locks'],
  ['show', 'a'],
  ['sessions'],
  ['session', 'close', '3'],
  ['members'],
  ['member', 'add', '4', 'a:1'],
  ['member', 'promote', '4'],
  ['member', 'remove', '4'],
  ['transfer'],
  ['ls', '/'],
  ['get', '/a'],
  ['stat', '/a'],
  ['create', '/a'],
  ['set', '/a', 'x'],
  ['delete', '/a'],
  ['lock', 'a', '--', 'true'],
  ['lock', 'a', '--wait', '1s', '--', 'true'],
  ['lock', 'a', 'b', '--mode', 'read', '--wait', '1s', '--', 'true'],
];

/** An ensemble that answers everything with this text, wherever a text may be. */
function poisonous(text: string): FakeEnvironment {
  const outside = new FakeEnvironment();
  outside.outputIsTerminal = true;
  const client = new FakeClient();
  outside.client = client;
  const entry = { session: 1, label: text, token: 7, acquireIndex: 7, since: 0, grantedAt: 0 };
  client.summaries = [{ lock: text, holders: [entry], waiters: 0 }];
  client.holders = [entry];
  client.sessionSummaries = [
    { session: 1, label: text, timeoutMs: 1_000, createdAt: 0, holds: 0, waits: 0, ephemerals: 0 },
  ] as unknown as typeof client.sessionSummaries;
  client.members = {
    leader: 4,
    members: [{ server: 4, role: text, peerAddress: text, clientAddress: text, connected: true }],
  } as unknown as typeof client.members;
  client.names = [text];
  client.data = new TextEncoder().encode(text);
  client.attempt = () =>
    Promise.resolve({ acquired: false, reason: text, holder: { session: 1, label: text, token: 7 } });
  const report = { role: text, version: text, id: 1, leader: 1, members: [{ id: 1, role: text }] };
  outside.answers = Object.fromEntries(
    [7101, 7102, 7103].map((port) => [
      `127.0.0.1:${port}`,
      port === 7103 ? new Error(text) : new Response(JSON.stringify(report)),
    ]),
  );
  outside.onStart = (child) => child.end({ exitCode: 1, startFailure: text });
  // Its colours are our own affair.
  outside.variables['NO_COLOR'] = '1';
  return outside;
}

describe('every command', () => {
  it.for(COMMANDS)('%j shows nothing of a hostile server that acts or hides', async (command) => {
    await assert(
      asyncProperty(hostile, async (text) => {
        for (const json of [[], ['--json']]) {
          const outside = poisonous(text);
          await runLockctl([...json, ...command], outside);
          expect(unsafeIn(outside.output)).toEqual([]);
          expect(unsafeIn(outside.errors)).toEqual([]);
          const failing = new FakeEnvironment();
          failing.client = new CodedError('CONNECTION_FAILED', text);
          await runLockctl([...json, ...command], failing);
          expect(unsafeIn(failing.errors)).toEqual([]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('shows what was typed in the same way', async () => {
    const outside = new FakeEnvironment();
    expect(await runLockctl(['--bogus\u001b]0;owned\u0007'], outside)).toBe(2);
    expect(outside.errors).toContain('\\u001b]0;owned\\u0007');
    expect(unsafeIn(outside.errors)).toEqual([]);
  });
});

describe('the data of a node', () => {
  it('is written byte for byte, but to a terminal', async () => {
    const outside = poisonous('\u001b[2Jred');
    outside.outputIsTerminal = false;
    await runLockctl(['get', '/a'], outside);
    expect(outside.bytes).toEqual([new TextEncoder().encode('\u001b[2Jred')]);
    const terminal = poisonous('one\n\u001b[2Jred');
    await runLockctl(['get', '/a'], terminal);
    expect(terminal.output).toBe('one\n\\u001b[2Jred');
    expect(terminal.bytes).toEqual([]);
  });
});
