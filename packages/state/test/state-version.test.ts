import { CommandType, encodeCommand, pack } from '@holdfast/protocol';
import { encodeEntry, LATEST_STATE_VERSION, SnapshotError, StateMachine, UnsupportedEntryError } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { bytesOf, copyOf, restore } from './support/snapshots.ts';
import { Solo } from './support/solo.ts';

const STATE_VERSION_OFFSET = 12;

function raisingTo(version: number): Uint8Array {
  return entryWith(encodeCommand({ type: 'raiseStateVersion', version }));
}

function entryWith(payload: Uint8Array): Uint8Array {
  const command = CommandType.raiseStateVersion;
  return encodeEntry({ command, generation: 0, session: 0, number: 0, ackedUpTo: 0 }, payload);
}

describe('the state version', () => {
  it('is 1 until an entry raises it, which does nothing else', () => {
    const solo = new Solo();
    solo.open();
    const before = solo.machine.counts;
    expect(solo.machine.version).toBe(1);
    expect(solo.apply(raisingTo(2))).toEqual([]);
    expect(solo.machine.version).toBe(2);
    expect(solo.machine.counts).toEqual(before);
  });

  it('never falls, whatever later entries say', () => {
    const solo = new Solo();
    solo.apply(raisingTo(2));
    for (const version of [2, 1, 0]) solo.apply(raisingTo(version));
    solo.apply(entryWith(pack([])));
    expect(solo.machine.version).toBe(2);
  });

  it('above what the program knows stops the server before anything has changed, and says so', () => {
    const solo = new Solo();
    const { digest } = solo.machine;
    expect(() => solo.apply(raisingTo(LATEST_STATE_VERSION + 1))).toThrow(UnsupportedEntryError);
    expect(() => solo.apply(raisingTo(2 ** 40))).toThrow(
      new RegExp(
        `index 1 raises the state version to 1099511627776, and this program knows state versions up to ${LATEST_STATE_VERSION}; ` +
          '.*run the version that the other servers run',
      ),
    );
    expect([solo.index, solo.machine.version, solo.machine.digest]).toEqual([0, 1, digest]);
  });

  it('is compared among the servers by their digests', () => {
    const raised = new Solo();
    const other = new Solo();
    raised.apply(raisingTo(2));
    other.apply(raisingTo(1));
    expect(raised.machine.digest).not.toBe(other.machine.digest);
  });

  it('is in snapshots', () => {
    const solo = new Solo();
    expect(copyOf(solo.machine).version).toBe(1);
    solo.apply(raisingTo(2));
    const bytes = bytesOf(solo.machine);
    expect(new DataView(bytes.buffer).getUint32(STATE_VERSION_OFFSET, true)).toBe(2);
    expect(restore(bytes, 1).version).toBe(2);
  });

  it('of a snapshot must be one that the program knows', () => {
    const refusalOf = (version: number): unknown => {
      const bytes = bytesOf(new Solo().machine);
      new DataView(bytes.buffer).setUint32(STATE_VERSION_OFFSET, version, true);
      try {
        restore(bytes, 0, new StateMachine());
      } catch (error) {
        return error instanceof SnapshotError ? error.code : error;
      }
      return undefined;
    };
    expect([0, 1, LATEST_STATE_VERSION, LATEST_STATE_VERSION + 1].map(refusalOf)).toEqual([
      'MALFORMED',
      undefined,
      undefined,
      'UNSUPPORTED',
    ]);
  });
});
