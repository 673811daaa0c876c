/** Snapshots as bytes, and machines made of them. */

import { StateMachine, type StateLimits, type StateSnapshot } from '@holdfast/state';

/** Everything that is still to be handed out. */
export function rest(snapshot: StateSnapshot, maxBytes = 4_096): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let piece = snapshot.next(maxBytes); piece !== undefined; piece = snapshot.next(maxBytes)) pieces.push(piece);
  return joined(pieces);
}

export function bytesOf(machine: StateMachine): Uint8Array {
  return rest(machine.beginSnapshot());
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** @throws SnapshotError */
export function restore(
  bytes: Uint8Array,
  index: number,
  machine: StateMachine = new StateMachine(),
  pieceBytes = 1_000,
): StateMachine {
  const restoring = machine.beginRestore(index);
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    restoring.push(bytes.subarray(start, start + pieceBytes));
  }
  restoring.finish();
  return machine;
}

/** A machine with those limits that was restored from what the other is now. */
export function copyOf(machine: StateMachine, limits: Partial<StateLimits> = {}): StateMachine {
  return restore(bytesOf(machine), machine.appliedIndex, new StateMachine({ limits }));
}
