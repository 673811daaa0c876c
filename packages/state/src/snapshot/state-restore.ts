/**
 * A state that is being restored from the pieces of a snapshot. Nothing that it is not: every field is checked, everything that follows
 * from others is made anew, and what the header says of the whole must come out. Until it is whole nobody sees it.
 */

import { MalformedError } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { LockKind } from '../locks/kinds/lock-kind.ts';
import type { Remembered } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import { State, type StateOptions } from '../state.ts';
import { NumberField } from '../tree/node-rows.ts';
import { emptyImage, type NodeImage, type NodeSlot } from '../tree/node-store.ts';
import { ByteQueue } from './byte-queue.ts';
import {
  HEADER_BYTES,
  MAX_FREE_SLOTS,
  MAX_RECORD_BYTES,
  readHeader,
  readIndex,
  RECORD_HEAD_BYTES,
  RecordType,
  type SnapshotHeader,
} from './format.ts';
import { readNode, readRole, type NodeRole } from './node-record.ts';
import { readSession, type KeptAnswer } from './session-record.ts';
import { malformed, SnapshotError, wellFormed } from '../snapshot-error.ts';

/** Of a node: indexes of entries. */
const INDEX_FIELDS = [NumberField.czxid, NumberField.mzxid, NumberField.pzxid] as const;

interface PlacedNode {
  readonly slot: NodeSlot;
  readonly role: NodeRole;
}

/** A session whose memory waits for the acquires that it names. */
interface Memory {
  readonly session: Session;
  readonly lastApplied: number;
  readonly answers: readonly KeptAnswer[];
}

export class StateRestore {
  readonly #index: number;
  readonly #restored: (state: State) => void;
  /** The highest state version that this program knows. */
  readonly #latest: number;
  readonly #bytes = new ByteQueue();
  /** The node that was read last. */
  readonly #image = emptyImage();
  readonly #state: State;
  #header: SnapshotHeader | undefined;
  /** Nodes whose parents have not come yet: they were about to change while the snapshot was taken. */
  #orphans: { readonly slot: NodeSlot; readonly image: NodeImage }[] = [];
  readonly #locks: PlacedNode[] = [];
  readonly #queueNodes: PlacedNode[] = [];
  readonly #ephemerals: NodeSlot[] = [];
  readonly #memories: Memory[] = [];
  readonly #free: NodeSlot[] = [];
  #records = 0;
  #ended = false;
  #complete = false;

  /** `index`: of the snapshot. `restored` is called by {@link adopt}, when everything is sound. */
  constructor(options: StateOptions, index: number, restored: (state: State) => void) {
    this.#latest = options.versions.latest;
    this.#index = index;
    this.#restored = restored;
    this.#state = new State(options);
  }

  /** The next piece, of any size; its bytes stay the caller's. @throws SnapshotError, after which it must not be used any more */
  push(piece: Uint8Array): void {
    this.#bytes.append(piece);
    if (this.#header === undefined && !this.#readHeader()) return;
    while (this.#readRecord());
  }

  /** There are no more pieces: everything is checked, and nobody sees the state yet. @throws SnapshotError */
  complete(): void {
    const header = this.#header;
    wellFormed(header !== undefined && this.#ended, () => 'ends too early');
    this.#adopt();
    this.#linkLocks();
    this.#recall();
    this.#state.nodes.restoreFree(this.#free);
    this.#check(header);
    this.#state.index = header.index;
    this.#state.stamp = header.stamp;
    this.#state.fold.restore(header.fold);
    this.#complete = true;
  }

  /** The restored state, which is complete, takes the place of the machine's, whatever was applied to that meanwhile. */
  adopt(): void {
    invariant(this.#complete, 'only-a-whole-state-is-adopted');
    this.#restored(this.#state);
  }

  /** Both. @throws SnapshotError, and nothing has changed */
  finish(): void {
    this.complete();
    this.adopt();
  }

  #readHeader(): boolean {
    if (this.#bytes.length < HEADER_BYTES) return false;
    const header = readHeader(this.#bytes.view, this.#bytes.start, this.#latest);
    const { index, counts, slots } = header;
    wellFormed(index === this.#index, () => `is of index ${index}, not ${this.#index}`);
    this.#state.raise(header.version);
    const { maxSessions, maxNodes, maxTreeDataBytes, maxTreeNameBytes } = this.#state.limits;
    wellFormed(
      counts.sessions <= maxSessions &&
        slots <= maxNodes &&
        counts.dataBytes <= maxTreeDataBytes &&
        counts.nameBytes <= maxTreeNameBytes,
      () => 'is of a state that is larger than this version allows',
    );
    this.#bytes.skip(HEADER_BYTES);
    this.#state.nodes.beginRestore(slots);
    this.#header = header;
    return true;
  }

  /** False when the next record has not come as a whole. */
  #readRecord(): boolean {
    const { bytes, view, start, length } = this.#bytes;
    if (length === 0) return false;
    if (this.#ended) throw malformed('goes on behind its end');
    if (length < RECORD_HEAD_BYTES) return false;
    const size = view.getUint32(start, true);
    if (size > MAX_RECORD_BYTES) throw malformed(`has a record of ${size} bytes, at most ${MAX_RECORD_BYTES}`);
    if (length < RECORD_HEAD_BYTES + size) return false;
    const at = start + RECORD_HEAD_BYTES;
    try {
      this.#take(view.getUint8(start + 4), bytes, view, at, at + size);
    } catch (cause) {
      if (!(cause instanceof MalformedError)) throw cause;
      throw new SnapshotError('MALFORMED', `has a malformed record (${cause.message})`, { cause });
    }
    this.#bytes.skip(RECORD_HEAD_BYTES + size);
    return true;
  }

  #take(type: number, bytes: Uint8Array, view: DataView, at: number, end: number): void {
    switch (type) {
      case RecordType.session:
        this.#takeSession(bytes, view, at, end);
        break;
      case RecordType.node:
        this.#takeNode('node', bytes, view, at, end);
        break;
      case RecordType.lock:
        this.#takeNode('lock', bytes, view, at, end);
        break;
      case RecordType.queueNode:
        this.#takeNode('queueNode', bytes, view, at, end);
        break;
      case RecordType.freeSlots:
        this.#takeFree(view, at, end);
        break;
      case RecordType.end:
        this.#takeEnd(view, at, end);
        return;
      default:
        wellFormed(false, () => `has a record of the unknown type ${type}`);
    }
    this.#records += 1;
  }

  #takeSession(bytes: Uint8Array, view: DataView, at: number, end: number): void {
    const { lastApplied, answers, generation, ending, ...image } = readSession(bytes, view, at, end);
    const { sessions } = this.#state;
    const isNew = sessions.get(image.id) === undefined && sessions.bySecretHash(image.secretHash) === undefined;
    wellFormed(isNew && image.id <= this.#index, () => `has a session ${image.id} that cannot be`);
    const session = sessions.create(image);
    session.generation = generation;
    if (ending !== undefined) sessions.beginEnd(session, ending);
    this.#memories.push({ session, lastApplied, answers });
  }

  #takeNode(type: NodeRole['type'], bytes: Uint8Array, view: DataView, at: number, end: number): void {
    const { role, at: from } = readRole(type, view, at, end);
    const image = this.#image;
    readNode(bytes, view, from, end, image);
    const { numbers } = image;
    const slot = view.getUint32(from, true) as NodeSlot;
    for (const field of INDEX_FIELDS) {
      if ((numbers[field] ?? 0) > this.#index) throw malformed(`has a node in slot ${slot} of a later index`);
    }
    if (role.type === 'lock') this.#locks.push({ slot, role });
    else if (role.type === 'queueNode') this.#queueNodes.push({ slot, role });
    else if (numbers[NumberField.ephemeralOwner] !== 0) this.#ephemerals.push(slot);
    if (!this.#state.nodes.place(slot, image)) this.#orphans.push({ slot, image: copyOf(image) });
  }

  #takeFree(view: DataView, at: number, end: number): void {
    wellFormed(
      (end - at) % 4 === 0 && end - at <= MAX_FREE_SLOTS * 4 && this.#free.length < this.#state.nodes.slots,
      () => `has ${end - at} bytes of free slots`,
    );
    for (let position = at; position < end; position += 4) {
      this.#free.push(view.getUint32(position, true) as NodeSlot);
    }
  }

  #takeEnd(view: DataView, at: number, end: number): void {
    wellFormed(end - at === 8, () => 'has a malformed end');
    const records = readIndex(view, at, 'number of records');
    wellFormed(records === this.#records, () => `has ${this.#records} records, not ${records}`);
    this.#ended = true;
  }

  /** Orphans whose parents have come meanwhile; an orphan may be the parent of another. */
  #adopt(): void {
    let before = Infinity;
    while (this.#orphans.length > 0 && this.#orphans.length < before) {
      before = this.#orphans.length;
      this.#orphans = this.#orphans.filter(({ slot, image }) => !this.#state.nodes.place(slot, image));
    }
    wellFormed(this.#orphans.length === 0, () => `has ${this.#orphans.length} nodes without a parent`);
  }

  /** Queues in order of acquire indexes, whatever order their nodes came in. */
  #linkLocks(): void {
    const { locks, nodes, sessions } = this.#state;
    locks.beginRestore();
    for (const { slot, role } of this.#locks)
      if (role.type === 'lock') locks.restoreLock(slot, this.#lockKind(role.kind));
    const inOrder = this.#queueNodes.sort((left, right) => nodes.czxid(left.slot) - nodes.czxid(right.slot));
    let last = 0;
    for (const { slot, role } of inOrder) {
      const acquireIndex = nodes.czxid(slot);
      wellFormed(acquireIndex > last, () => `has two acquires ${acquireIndex}`);
      last = acquireIndex;
      if (role.type === 'queueNode') locks.restoreAcquire(slot, role.token, role.grantedAt);
    }
    // As they come where nothing was restored: the end of a session looks for its oldest.
    this.#ephemerals.sort((left, right) => nodes.czxid(left) - nodes.czxid(right));
    for (const slot of this.#ephemerals) {
      const owner = sessions.get(nodes.ephemeralOwner(slot));
      wellFormed(owner !== undefined, () => `has an ephemeral node in slot ${slot} without a session`);
      owner.ephemerals.add(slot);
    }
    locks.checkRestored();
  }

  #lockKind(number: number): LockKind {
    const kind = this.#state.rules.lockKinds[number];
    wellFormed(kind !== undefined, () => `has a lock of the unknown kind ${number}`);
    return kind;
  }

  #recall(): void {
    for (const { session, lastApplied, answers } of this.#memories) {
      const remembered = answers.map((answer): Remembered => {
        if (typeof answer !== 'number') return answer;
        const acquire = this.#state.locks.acquiresOf(session).get(answer);
        wellFormed(acquire !== undefined, () => `has a session ${session.id} that remembers no acquire of its own`);
        return acquire;
      });
      session.memory.restore(lastApplied, remembered);
    }
  }

  #check({ counts }: SnapshotHeader): void {
    const found = this.#state.counts;
    for (const [name, count] of Object.entries(counts)) {
      const restored = found[name as keyof typeof found];
      wellFormed(restored === count, () => `has ${name} ${restored}, not ${count} as its header says`);
    }
  }
}

/** To be kept: what is read next is written over the other. */
function copyOf({ name, parent, data, numbers }: NodeImage): NodeImage {
  return { name, parent, data: data.slice(), numbers: numbers.slice() };
}
