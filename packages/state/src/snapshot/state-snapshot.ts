/**
 * A snapshot that is being taken: the state of exactly one index, piece by piece, while later entries are applied. Sessions come first,
 * by id, then nodes by slot; but what is about to change and was not yet written is written before it does, and what was born later
 * is left out. So each record is written once, as it was, and undisturbed the same state always makes the same bytes.
 */

import { MAX_UTF8_BYTES_PER_UNIT, writeText } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { Session } from '../sessions/session.ts';
import type { State } from '../state.ts';
import type { NodeExtra } from '../tree/storage/node-extras.ts';
import { NODE_NUMBERS } from '../tree/storage/node-rows.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import { ByteQueue } from './byte-queue.ts';
import type { Capturing } from './capture.ts';
import type { SnapshotFeature } from './features.ts';
import {
  FEATURE_BYTES,
  HEADER_BYTES,
  MAX_FREE_SLOTS,
  NODE_EXTRA_BYTES,
  RECORD_HEAD_BYTES,
  RecordType,
  writeHead,
  writeHeader,
} from './format.ts';
import { PLAIN_NODE, writeNode, type NodeRole } from './node-record.ts';
import { writeSession } from './session-record.ts';

export class StateSnapshot implements Capturing {
  readonly index: number;
  readonly #state: State;
  readonly #bytes = new ByteQueue();
  readonly #numbers = new Float64Array(NODE_NUMBERS);
  readonly #slots: number;
  readonly #free: readonly NodeSlot[];
  /** What was written ahead of its turn: those whose turn is still to come. */
  readonly #earlySessions = new Set<Session>();
  readonly #earlyNodes = new Set<NodeSlot>();
  readonly #sessions: readonly Session[];
  #nextSession = 0;
  #nextSlot = 0;
  #nextFree = 0;
  #records = 0;
  #phase: 'writing' | 'written' | 'cancelled' = 'writing';

  constructor(state: State, index: number) {
    this.index = index;
    this.#state = state;
    const { nodes, sessions } = state;
    this.#slots = nodes.slots;
    this.#free = nodes.freeSlots();
    this.#sessions = sessions.inOrder();
    const features = nodes.extraTags().map((tag) => featureOf(state, tag));
    const at = this.#bytes.reserve(HEADER_BYTES);
    const header = {
      version: state.version,
      features: features.length,
      index,
      stamp: state.stamp,
      digest: state.digest.lanes,
      counts: state.counts,
      slots: nodes.slots,
    };
    this.#bytes.commit(writeHeader(header, this.#bytes.view, at));
    for (const feature of features) this.#writeFeature(feature);
    state.capture.begin(this);
  }

  /**
   * At most `maxBytes` more, at least one byte; undefined when everything was handed out. The bytes are the caller's, and lie in `room`
   * if that has as many: a large state would otherwise leave as much garbage as it has bytes.
   */
  next(maxBytes: number, room?: Uint8Array): Uint8Array | undefined {
    invariant(maxBytes >= 1, 'a piece has room for a byte');
    invariant(this.#phase !== 'cancelled', 'a snapshot that was cancelled has no more pieces');
    while (this.#bytes.length < maxBytes && this.#phase === 'writing') this.#writeMore();
    return this.#bytes.length === 0 ? undefined : this.#bytes.take(maxBytes, room);
  }

  /** Nothing more of it is needed. Idempotent. */
  cancel(): void {
    this.#phase = 'cancelled';
    this.#state.capture.end(this);
  }

  sessionChanging(session: Session): void {
    if (session.id > this.index || this.#earlySessions.has(session)) return;
    const next = this.#sessions[this.#nextSession];
    if (next === undefined || session.id < next.id) return;
    this.#earlySessions.add(session);
    this.#writeSession(session);
  }

  nodeChanging(node: NodeSlot): void {
    if (node < this.#nextSlot || this.#earlyNodes.has(node) || this.#isBornLater(node)) return;
    this.#earlyNodes.add(node);
    this.#writeNode(node);
  }

  /** The next record, or the end. */
  #writeMore(): void {
    const session = this.#sessions[this.#nextSession];
    if (session !== undefined) {
      this.#nextSession += 1;
      if (!this.#earlySessions.delete(session)) this.#writeSession(session);
    } else if (this.#nextSlot < this.#slots) {
      this.#writeNextSlot();
    } else if (this.#nextFree < this.#free.length) {
      this.#writeFree();
    } else {
      this.#writeEnd();
    }
  }

  #writeNextSlot(): void {
    const slot = this.#nextSlot as NodeSlot;
    this.#nextSlot += 1;
    if (this.#earlyNodes.delete(slot)) return;
    if (this.#state.nodes.isUsed(slot) && !this.#isBornLater(slot)) this.#writeNode(slot);
  }

  #isBornLater(node: NodeSlot): boolean {
    return this.#state.nodes.czxid(node) > this.index;
  }

  #writeSession(session: Session): void {
    writeSession(this.#bytes, session);
    this.#records += 1;
  }

  #writeNode(slot: NodeSlot): void {
    const { nodes } = this.#state;
    invariant(nodes.isUsed(slot), 'a node that is written exists');
    writeNode(this.#bytes, slot, nodes, this.#roleOf(slot), this.#numbers);
    this.#records += 1;
    for (const extra of nodes.extras(slot)) this.#writeExtra(slot, extra);
  }

  #writeExtra(slot: NodeSlot, { tag, bytes }: NodeExtra): void {
    const start = this.#bytes.reserve(RECORD_HEAD_BYTES + NODE_EXTRA_BYTES + bytes.length);
    const at = start + RECORD_HEAD_BYTES;
    const { view } = this.#bytes;
    view.setUint32(at, slot, true);
    view.setUint16(at + 4, tag, true);
    this.#bytes.bytes.set(bytes, at + NODE_EXTRA_BYTES);
    this.#end(RecordType.nodeExtra, start, at + NODE_EXTRA_BYTES + bytes.length);
  }

  #writeFeature({ number, name, required }: SnapshotFeature): void {
    const start = this.#bytes.reserve(RECORD_HEAD_BYTES + FEATURE_BYTES + name.length * MAX_UTF8_BYTES_PER_UNIT);
    const at = start + RECORD_HEAD_BYTES;
    const { bytes, view } = this.#bytes;
    view.setUint16(at, number, true);
    view.setUint8(at + 2, required ? 1 : 0);
    this.#end(RecordType.feature, start, writeText(name, bytes, at + FEATURE_BYTES));
  }

  /** The record that begins at `start` is whole. */
  #end(type: number, start: number, end: number): void {
    writeHead(this.#bytes.view, start, type, end);
    this.#bytes.commit(end);
    this.#records += 1;
  }

  #roleOf(slot: NodeSlot): NodeRole {
    const { locks } = this.#state;
    const acquire = locks.acquireOf(slot);
    if (acquire !== undefined) return { type: 'queueNode', token: acquire.token, grantedAt: acquire.grantedAt };
    const lock = locks.lockOf(slot);
    return lock === undefined ? PLAIN_NODE : { type: 'lock', kind: lock.kind.number };
  }

  #writeFree(): void {
    const slots = this.#free.slice(this.#nextFree, this.#nextFree + MAX_FREE_SLOTS);
    this.#nextFree += slots.length;
    const start = this.#bytes.reserve(RECORD_HEAD_BYTES + slots.length * 4);
    const { view } = this.#bytes;
    let end = start + RECORD_HEAD_BYTES;
    for (const slot of slots) {
      view.setUint32(end, slot, true);
      end += 4;
    }
    this.#end(RecordType.freeSlots, start, end);
  }

  #writeEnd(): void {
    const start = this.#bytes.reserve(RECORD_HEAD_BYTES + 8);
    const end = start + RECORD_HEAD_BYTES + 8;
    this.#bytes.view.setFloat64(start + RECORD_HEAD_BYTES, this.#records, true);
    writeHead(this.#bytes.view, start, RecordType.end, end);
    this.#bytes.commit(end);
    this.#phase = 'written';
    this.#state.capture.end(this);
  }
}

function featureOf({ features }: State, number: number): SnapshotFeature {
  const feature = features.get(number);
  invariant(feature !== undefined, 'a tag of an extra is that of a feature');
  return feature;
}
