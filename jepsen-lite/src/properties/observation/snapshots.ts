/**
 * Snapshots of a machine while it goes on: one is begun as soon as the one before was handed out, in pieces of random sizes between
 * random entries. What is restored of it is fed the entries since, and goes on beside the machine until the next one takes its place.
 */

import { SnapshotError, type Output, type StateSnapshot } from '@holdfast/state';

import { withReversedCollections } from '../reversed-collections.ts';
import type { Entry } from '../script/entry.ts';
import type { Move } from '../script/move.ts';
import { demand } from '../demand.ts';
import { difference } from './difference.ts';
import { feed, type Machine, type MakeMachine } from './machine.ts';
import { viewOf, type View } from './view.ts';

/** Bytes of one piece: some hand out one record or none, some everything. */
const PIECE_BYTES = [1, 16, 100, 300, 1_000, 5_000] as const;
/** In which the pieces are given back. */
const GIVEN_BYTES = [7, 104, 109, 1_000] as const;

interface Applied {
  readonly index: number;
  readonly entry: Entry;
  readonly outputs: readonly Output[];
  readonly digest: number;
}

interface UnderWay {
  readonly snapshot: StateSnapshot;
  readonly pieces: Uint8Array[];
  /** Since it was begun. */
  readonly applied: Applied[];
}

interface Restored {
  readonly machine: Machine;
  /** Of the snapshot. */
  readonly index: number;
}

export class Snapshots {
  readonly #machine: Machine;
  readonly #makeMachine: MakeMachine;
  #underWay: UnderWay | undefined;
  #restored: Restored | undefined;

  constructor(machine: Machine, makeMachine: MakeMachine) {
    this.#machine = machine;
    this.#makeMachine = makeMachine;
  }

  /** After an entry was applied: compares what was restored before, and moves on the snapshot that is under way. @throws BrokenPromiseError */
  applied(applied: Applied, view: View, move: Move): void {
    if (this.#restored !== undefined) {
      goOn(this.#restored, applied);
      if (move.what === 0) this.#compareViews(this.#restored, view);
    }
    this.#underWay?.applied.push(applied);
    this.#underWay ??= { snapshot: this.#machine.beginSnapshot(), pieces: [], applied: [] };
    const maxBytes = PIECE_BYTES[move.flavour % PIECE_BYTES.length] ?? 1;
    for (let count = 0; count <= move.ack % 3; count += 1) {
      const piece = this.#underWay.snapshot.next(maxBytes);
      if (piece === undefined) {
        this.#taken(this.#underWay, view, move);
        return;
      }
      demand(piece.length > 0 && piece.length <= maxBytes, () => `a piece has ${piece.length} of ${maxBytes} bytes`);
      this.#underWay.pieces.push(piece);
    }
  }

  #taken({ snapshot, pieces, applied }: UnderWay, view: View, move: Move): void {
    this.#underWay = undefined;
    const before = this.#restored;
    if (before !== undefined) this.#compareBytes(before);
    const machine = restore(snapshot.index, joined(pieces), move, this.#makeMachine);
    const restored: Restored = { machine, index: snapshot.index };
    demand(
      machine.appliedIndex === snapshot.index,
      () => `the snapshot of index ${snapshot.index} restored index ${machine.appliedIndex}`,
    );
    for (const each of applied) goOn(restored, each);
    this.#compareViews(restored, view);
    this.#compareBytes(restored);
    this.#restored = restored;
  }

  #compareViews({ machine, index }: Restored, view: View): void {
    const inState = difference(viewOf(machine), view);
    demand(inState === undefined, () => `at index ${view.index} ${name(index)} answers otherwise:${inState}`);
  }

  /** The encoding knows one form of a state, however the machine came to it. */
  #compareBytes({ machine, index }: Restored): void {
    const own = allOf(this.#machine);
    const its = allOf(machine);
    const same = own.length === its.length && own.every((byte, at) => byte === its[at]);
    demand(same, () => `at index ${machine.appliedIndex} ${name(index)} makes another snapshot`);
  }
}

function goOn({ machine, index: from }: Restored, { index, entry, outputs, digest }: Applied): void {
  const its = withReversedCollections(() => feed(machine, machine.appliedIndex + 1, entry));
  const inOutputs = difference(its, outputs);
  demand(inOutputs === undefined, () => `at index ${index} ${name(from)} has other outputs:${inOutputs}`);
  demand(
    machine.digest === digest,
    () => `at index ${index} ${name(from)} has the digest ${machine.digest}, not ${digest}`,
  );
}

/** In pieces of other sizes than it was handed out in, and in memory that is overwritten afterwards. */
function restore(index: number, bytes: Uint8Array, { pick }: Move, makeMachine: MakeMachine): Machine {
  return withReversedCollections(() => {
    const machine = makeMachine();
    try {
      const restoring = machine.beginRestore(index);
      const size = GIVEN_BYTES[pick % GIVEN_BYTES.length] ?? 1;
      for (let start = 0; start < bytes.length; start += size) {
        const piece = bytes.slice(start, start + size);
        restoring.push(piece);
        piece.fill(0xff);
      }
      restoring.finish();
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      demand(false, () => error.message);
    }
    return machine;
  });
}

function allOf(machine: Machine): Uint8Array {
  const snapshot = machine.beginSnapshot();
  const pieces: Uint8Array[] = [];
  for (let piece = snapshot.next(65_536); piece !== undefined; piece = snapshot.next(65_536)) pieces.push(piece);
  return joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function name(index: number): string {
  return `a machine restored from the snapshot of index ${index}`;
}
