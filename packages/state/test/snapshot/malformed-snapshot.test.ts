/** Bytes that are no snapshot: each is refused with a typed error, and leaves the machine as it was. */

import { LATEST_STATE_VERSION, SnapshotError, StateMachine } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { Solo } from '../support/solo.ts';
import { bytesOf, restore } from '../support/snapshots.ts';

const HEADER_BYTES = 104;
const END_BYTES = 13;
const RECORD_HEAD_BYTES = 5;
/** Token and time of the grant, before the slot and the parent of the node. */
const QUEUE_NODE_BYTES = 16;
/** The kind, before the slot and the parent of the node. */
const LOCK_BYTES = 1;
/** From the slot to the name. */
const NODE_BYTES = 86;
const LOCK = 3;
const QUEUE_NODE = 4;
const FREE_SLOTS = 5;

function sample(): { readonly bytes: Uint8Array; readonly index: number } {
  const solo = new Solo();
  const [one, two] = [solo.open('one'), solo.open('two')];
  one.made('/a', { data: 'data' });
  one.made('/a/b', { ephemeral: true });
  one.made('/c');
  one.delete('/c');
  const held = one.acquire('lock');
  two.acquire('lock');
  one.release(held);
  one.acquire('lock');
  one.create('/x/y');
  return { bytes: bytesOf(solo.machine), index: solo.index };
}

const { bytes: SAMPLE, index: INDEX } = sample();

/** What a machine's snapshot is before anything was applied. */
const NEW = bytesOf(new StateMachine());

/** The error that restoring ends with, on a machine that must not change by it; undefined when it succeeds. */
function refusal(bytes: Uint8Array, index = INDEX, limits = {}): SnapshotError | undefined {
  const machine = new StateMachine({ limits });
  try {
    restore(bytes, index, machine);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    expect(machine.appliedIndex).toBe(0);
    expect(Buffer.compare(bytesOf(machine), NEW)).toBe(0);
    return error;
  }
  return undefined;
}

function altered(alter: (view: DataView, bytes: Uint8Array) => void): Uint8Array {
  const bytes = SAMPLE.slice();
  alter(new DataView(bytes.buffer), bytes);
  return bytes;
}

/** Its records: where each begins, its head included, and its type. */
function records(bytes: Uint8Array): { readonly start: number; readonly end: number; readonly type: number }[] {
  const view = new DataView(bytes.buffer);
  const found: { start: number; end: number; type: number }[] = [];
  for (let start = HEADER_BYTES; start < bytes.length;) {
    const end = start + 5 + view.getUint32(start, true);
    found.push({ start, end, type: view.getUint8(start + 4) });
    start = end;
  }
  return found;
}

describe('a snapshot of which something is wrong', () => {
  it('is restored when nothing is', () => {
    expect(refusal(SAMPLE)).toBeUndefined();
  });

  it('is refused wherever it ends too early', () => {
    for (let length = 0; length < SAMPLE.length; length += 1) {
      expect(refusal(SAMPLE.subarray(0, length))?.code, `${length} bytes`).toBe('MALFORMED');
    }
  });

  it('is refused when it goes on behind its end', () => {
    expect(refusal(new Uint8Array([...SAMPLE, 0]))?.message).toContain('goes on behind its end');
  });

  it('is refused, or has another sound state, whichever of its bits is another', () => {
    // One machine for all that are refused, and a look at it after each byte: a machine for each costs more than all the rest.
    let machine = new StateMachine();
    let refused = 0;
    for (let position = 0; position < SAMPLE.length; position += 1) {
      const bytes = SAMPLE.slice();
      for (let bit = 0; bit < 8; bit += 1) {
        bytes[position] = (SAMPLE[position] ?? 0) ^ (1 << bit);
        try {
          restore(bytes, INDEX, machine);
          machine = new StateMachine();
        } catch (error) {
          if (!(error instanceof SnapshotError)) throw error;
          refused += 1;
        }
      }
      expect(machine.appliedIndex).toBe(0);
      expect(Buffer.compare(bytesOf(machine), NEW), `byte ${position}`).toBe(0);
    }
    expect(refused / (8 * SAMPLE.length)).toBeGreaterThan(0.3);
  });

  it('is refused without any one of its records', () => {
    for (const { start, end, type } of records(SAMPLE)) {
      const bytes = new Uint8Array([...SAMPLE.subarray(0, start), ...SAMPLE.subarray(end)]);
      // That one is missing is seen by their number already: so it is set right.
      const view = new DataView(bytes.buffer);
      const at = bytes.length - 8;
      if (type !== 6) view.setFloat64(at, view.getFloat64(at, true) - 1, true);
      expect(refusal(bytes)?.code, `record at ${start}`).toBe('MALFORMED');
    }
  });

  it('is refused with any of its records twice', () => {
    for (const { start, end } of records(SAMPLE).slice(0, -1)) {
      const bytes = new Uint8Array([...SAMPLE.subarray(0, end), ...SAMPLE.subarray(start)]);
      const view = new DataView(bytes.buffer);
      const at = bytes.length - 8;
      view.setFloat64(at, view.getFloat64(at, true) + 1, true);
      expect(refusal(bytes)?.code, `record at ${start}`).toBe('MALFORMED');
    }
  });

  it('is restored whatever the order of its records', () => {
    const found = records(SAMPLE);
    const [end] = found.splice(-1);
    const inReverse = found.toReversed().flatMap((record) => [...SAMPLE.subarray(record.start, record.end)]);
    const bytes = new Uint8Array([
      ...SAMPLE.subarray(0, HEADER_BYTES),
      ...inReverse,
      ...SAMPLE.subarray(end?.start ?? 0),
    ]);
    expect(bytesOf(restore(bytes, INDEX))).toEqual(SAMPLE);
  });

  it.each([
    ['a format version', 4, 2],
    ['a state version', 12, LATEST_STATE_VERSION + 1],
  ])('is refused as UNSUPPORTED with %s of another program', (_, offset, value) => {
    expect(refusal(altered((view) => view.setUint32(offset, value, true)))?.code).toBe('UNSUPPORTED');
  });

  it('is refused when it is of another index than its file says', () => {
    expect(refusal(SAMPLE, INDEX + 1)?.message).toContain(`is of index ${INDEX}, not ${INDEX + 1}`);
  });

  it.each([
    ['counts', 40, Number.NaN],
    ['negative counts', 40, -1],
    ['an index', 16, 2 ** 53],
    ['a zero with a sign', 80, -0],
  ])('is refused with %s that no log has', (_, offset, value) => {
    expect(refusal(altered((view) => view.setFloat64(offset, value, true)))?.code).toBe('MALFORMED');
  });

  it('is refused before memory is taken for more than the limits allow', () => {
    for (const offset of [40, 56, 88]) {
      const bytes = altered((view) => view.setFloat64(offset, 2 ** 40, true));
      expect(refusal(bytes)?.message).toContain('larger than this version allows');
    }
    expect(refusal(SAMPLE, INDEX, { maxNodes: 3 })?.code).toBe('MALFORMED');
  });

  it('is refused at the head of a record that is too long, before the rest has come', () => {
    const restoring = new StateMachine().beginRestore(INDEX);
    const bytes = altered((view) => view.setUint32(HEADER_BYTES, 0xffff_ffff, true));
    expect(() => restoring.push(bytes.subarray(0, HEADER_BYTES + 5))).toThrow(SnapshotError);
  });

  it('is refused with a record that it does not know', () => {
    const bytes = altered((_view, all) => {
      all[HEADER_BYTES + 4] = 9;
    });
    expect(refusal(bytes)?.message).toContain('unknown type 9');
  });

  it('is refused with a lock that is granted to nobody, though someone waits', () => {
    const bytes = altered((view) => {
      const held = records(SAMPLE).find(
        ({ start, type }) => type === QUEUE_NODE && view.getFloat64(start + 5, true) > 0,
      );
      const at = (held?.start ?? NaN) + RECORD_HEAD_BYTES;
      // As its acquire was before it was granted: without a token, and its node unmodified since it was created.
      const numbersAt = at + QUEUE_NODE_BYTES + 8;
      view.setFloat64(at, 0, true);
      view.setFloat64(at + 8, 0, true);
      view.setFloat64(numbersAt + 8, view.getFloat64(numbersAt, true), true);
      const [holds, waits] = [72, 80];
      view.setFloat64(holds, view.getFloat64(holds, true) - 1, true);
      view.setFloat64(waits, view.getFloat64(waits, true) + 1, true);
    });
    expect(refusal(bytes)?.message).toContain('has a lock lock that is not granted to whom it is free for');
  });

  it.each([
    ['stands elsewhere', (view: DataView, at: number) => view.setUint32(at + 4, 0, true)],
    ['has the name of none', (view: DataView, at: number) => view.setUint8(at + NODE_BYTES, '%'.charCodeAt(0))],
  ])('is refused with a lock whose container %s', (_, alter) => {
    const bytes = altered((view) => {
      const lock = records(SAMPLE).find(({ type }) => type === LOCK);
      alter(view, (lock?.start ?? NaN) + RECORD_HEAD_BYTES + LOCK_BYTES);
    });
    expect(refusal(bytes)?.message).toContain('has a lock that cannot be');
  });

  it('is refused with a free slot that has a node, or that is none of its slots', () => {
    const solo = new Solo();
    const one = solo.open('one');
    one.made('/a');
    one.made('/b');
    one.delete('/a');
    const bytes = bytesOf(solo.machine);
    expect(refusal(bytes, solo.index)).toBeUndefined();
    const free = records(bytes).find(({ type }) => type === FREE_SLOTS);
    const view = new DataView(bytes.buffer);
    const at = (free?.start ?? NaN) + RECORD_HEAD_BYTES;
    const slot = view.getUint32(at, true);
    for (const wrong of [slot - 1, slot + 1, slot + 2, 1_000_000]) {
      view.setUint32(at, wrong, true);
      expect(refusal(bytes, solo.index)?.message, `slot ${wrong}`).toContain('has free slots that are not those');
    }
  });

  it('says what is wrong and what to do', () => {
    expect(refusal(SAMPLE.subarray(0, SAMPLE.length - END_BYTES))?.message).toBe(
      'the snapshot ends too early; it cannot be used: restore an earlier one, or let the server fetch one from its leader',
    );
  });
});
