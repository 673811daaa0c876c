import { describe, expect, it } from 'vitest';

import { CommandType, encodeCommand } from '@holdfast/protocol';
import { encodeEntry, InvariantError, StateMachine, UnsupportedEntryError } from '@holdfast/state';

import { Solo } from './support/solo.ts';

function attachEntry(): Uint8Array {
  const payload = encodeCommand({
    type: 'attach',
    secretHash: new Uint8Array(32),
    session: 0,
    timeoutMs: 10_000,
    label: '',
  });
  return encodeEntry({ command: CommandType.attach, generation: 0, session: 0, number: 1, ackedUpTo: 0 }, payload);
}

describe('entries', () => {
  it('are applied in index order without gaps', () => {
    const machine = new StateMachine();
    expect(() => machine.apply(2, attachEntry())).toThrow(InvariantError);
    expect(() => machine.applyNoop(0)).toThrow(InvariantError);
    machine.applyNoop(1);
    machine.apply(2, attachEntry());
    expect(() => machine.apply(2, attachEntry())).toThrow('index order');
    expect(machine.appliedIndex).toBe(2);
  });

  const edits: [string, (entry: Uint8Array) => Uint8Array, RegExp][] = [
    ['of another format version', (entry) => entry.with(0, 2), /index 1 .*format version 2/],
    ['of no command', (entry) => entry.with(1, 0), /unknown command number 0/],
    ['of an unknown command of the leader', (entry) => entry.with(1, 127), /unknown command number 127/],
    ['of another group', (entry) => entry.with(2, 5), /group 5/],
    ['shorter than a header', (entry) => entry.subarray(0, 20), /malformed/],
    ['that end within their identities', (entry) => entry.with(43, 0xff), /malformed/],
  ];

  it.each(edits)('%s stop the server before anything has changed', (_, edit, message) => {
    const machine = new StateMachine();
    const { digest } = machine;
    expect(() => machine.apply(1, edit(attachEntry()))).toThrow(UnsupportedEntryError);
    expect(() => machine.apply(1, edit(attachEntry()))).toThrow(message);
    expect([machine.appliedIndex, machine.digest, machine.counts.sessions]).toEqual([0, digest, 0]);
    machine.apply(1, attachEntry());
    expect(machine.appliedIndex).toBe(1);
  });

  it('may carry identities, which are skipped', () => {
    const plain = attachEntry();
    const entry = new Uint8Array(plain.length + 3);
    entry.set(plain.subarray(0, 48));
    entry[40] = 3;
    entry.set(plain.subarray(48), 51);
    const outputs = new StateMachine().apply(1, entry);
    expect(outputs.map(({ type }) => type)).toEqual(['sessionCreated', 'attached']);
  });

  it('may begin anywhere in their buffer', () => {
    const plain = attachEntry();
    const buffer = new Uint8Array(plain.length + 5);
    buffer.set(plain, 5);
    const [moved, straight] = [new StateMachine(), new StateMachine()];
    expect(moved.apply(1, buffer.subarray(5))).toEqual(straight.apply(1, plain));
  });

  it('of the leader with a malformed payload have no effect', () => {
    const solo = new Solo();
    solo.open();
    const header = { command: CommandType.expireSession, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
    expect(solo.apply(encodeEntry(header, new Uint8Array([1])))).toEqual([]);
    expect(solo.machine.counts.sessions).toBe(1);
  });
});

describe('the digest', () => {
  it('is a safe integer that every entry moves, no-ops included', () => {
    const solo = new Solo();
    const seen = new Set([solo.machine.digest]);
    const note = (): void => {
      expect(Number.isSafeInteger(solo.machine.digest)).toBe(true);
      seen.add(solo.machine.digest);
    };
    const session = solo.open();
    note();
    for (let round = 0; round < 500; round += 1) {
      session.delete('/none');
      note();
      solo.noop();
      note();
    }
    expect(seen.size).toBe(1_002);
  });

  it('differs after another result at the same index', () => {
    const [left, right] = [new Solo(), new Solo()];
    const [a, b] = [left.open(), right.open()];
    a.made('/a');
    b.delete('/a');
    expect(left.machine.digest).not.toBe(right.machine.digest);
  });

  it('differs when another node was touched, though every reply has the same code', () => {
    const digest = (path: string): number => {
      const solo = new Solo();
      const session = solo.open();
      session.made('/a');
      session.made('/b');
      session.delete(path);
      return solo.machine.digest;
    };
    expect(digest('/a')).toBe(digest('/a'));
    expect(digest('/a')).not.toBe(digest('/b'));
  });
});
