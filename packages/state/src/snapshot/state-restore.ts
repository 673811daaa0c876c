/**
 * A state that is being restored from the pieces of a snapshot. Nothing that it is not: every field is checked, everything that follows
 * from others is made anew, and what the header says of the whole must come out. Until it is whole nobody sees it.
 */

import { MalformedError } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { StateLimits } from '../limits.ts';
import type { LockKind } from '../locks/kinds/lock-kind.ts';
import { DELAY_EXTRA_BYTES } from '../locks/lock-delay.ts';
import type { CachedReply } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import { State, type StateOptions } from '../state.ts';
import { NumberField } from '../tree/storage/node-rows.ts';
import type { NodeExtra } from '../tree/storage/node-extras.ts';
import type { NodeSlot } from '../tree/node-slot.ts';
import type { NodeImage, TreeRestore } from '../tree/tree-restore.ts';
import { ByteQueue } from './byte-queue.ts';
import type { SnapshotFeature } from './features.ts';
import {
  MAX_RECORD_BYTES,
  PREAMBLE_BYTES,
  readFormatVersion,
  RECORD_HEAD_BYTES,
  type SnapshotHeader,
} from './format.ts';
import type { NodeRole } from './node-record.ts';
import type { SnapshotReader, SnapshotSink } from './reader.ts';
import { READERS } from './readers.ts';
import type { KeptAnswer, SessionImage } from './session-record.ts';
import { malformed, SnapshotError, wellFormed } from '../snapshot-error.ts';

/** Of a node: indexes of entries. */
const INDEX_FIELDS = [NumberField.czxid, NumberField.mzxid, NumberField.pzxid] as const;

/** Parameters of its request, options of its acquire, and a request to release it: a head of each, which is not counted before they are kept. */
const QUEUE_NODE_HEADS_BYTES = 12;

interface PlacedNode {
  readonly slot: NodeSlot;
  readonly role: NodeRole;
}

/** A session whose reply cache waits for the acquires that it names. */
interface CacheImage {
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
  readonly #state: State;
  readonly #sink: SnapshotSink = {
    feature: (feature) => this.#takeFeature(feature),
    session: (image) => this.#takeSession(image),
    node: (slot, role, image) => this.#takeNode(slot, role, image),
    extra: (slot, extra) => this.#takeExtra(slot, extra),
    freeSlot: (slot) => this.#takeFree(slot),
    end: (records) => this.#takeEnd(records),
  };
  #header: SnapshotHeader | undefined;
  #reader: SnapshotReader | undefined;
  /** Without a slot until the header has come. */
  #tree: TreeRestore;
  /** What it has named. */
  readonly #features = new Set<number>();
  /** Nodes whose parents have not come yet: they were about to change while the snapshot was taken. */
  #orphans: { readonly slot: NodeSlot; readonly image: NodeImage }[] = [];
  readonly #locks: PlacedNode[] = [];
  readonly #queueNodes: PlacedNode[] = [];
  readonly #ephemerals: NodeSlot[] = [];
  readonly #orphanExtras: { readonly slot: NodeSlot; readonly extra: NodeExtra }[] = [];
  readonly #caches: CacheImage[] = [];
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
    this.#tree = this.#state.nodes.beginRestore(0);
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
    this.#placeOrphanExtras();
    this.#tree.finish(this.#free);
    this.#linkLocks();
    this.#fillCaches();
    this.#check(header);
    wellFormed(
      this.#features.size === header.features,
      () => `names ${this.#features.size} features, not ${header.features}`,
    );
    this.#state.index = header.index;
    this.#state.stamp = header.stamp;
    this.#state.digest.restore(header.digest);
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
    if (this.#bytes.length < PREAMBLE_BYTES) return false;
    const { view, start } = this.#bytes;
    const version = readFormatVersion(view, start);
    const reader = READERS.get(version);
    if (reader === undefined) {
      const known = `this program knows ${[...READERS.keys()].join(', ')}`;
      throw new SnapshotError('UNSUPPORTED', `has format version ${version}, and ${known}`);
    }
    if (this.#bytes.length < reader.headerBytes) return false;
    const header = reader.readHeader(view, start, this.#latest);
    const { index, counts, slots } = header;
    wellFormed(index === this.#index, () => `is of index ${index}, not ${this.#index}`);
    this.#state.raise(header.version);
    const { limits } = this.#state;
    const { maxSessions, maxNodes, maxTreeNameBytes } = limits;
    wellFormed(
      counts.sessions <= maxSessions &&
        slots <= maxNodes &&
        counts.dataBytes <= mostDataBytes(limits) &&
        counts.nameBytes <= maxTreeNameBytes,
      () => 'is of a state that is larger than this version allows',
    );
    this.#bytes.skip(reader.headerBytes);
    this.#tree = this.#state.nodes.beginRestore(slots);
    this.#header = header;
    this.#reader = reader;
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
      this.#reader?.readRecord(view.getUint8(start + 4), bytes, view, at, at + size, this.#sink);
    } catch (cause) {
      if (!(cause instanceof MalformedError)) throw cause;
      throw new SnapshotError('MALFORMED', `has a malformed record (${cause.message})`, { cause });
    }
    if (!this.#ended) this.#records += 1;
    this.#bytes.skip(RECORD_HEAD_BYTES + size);
    return true;
  }

  #takeFeature(feature: SnapshotFeature): void {
    const { number, name, required } = feature;
    const { features } = this.#state;
    const inPlace = this.#features.size < (this.#header?.features ?? 0) && this.#records === this.#features.size;
    wellFormed(inPlace && number > 0 && !this.#features.has(number), () => `has a feature ${number} that cannot be`);
    this.#features.add(number);
    if (features.has(number)) return;
    if (required) {
      const known = 'this program does not know it: run the version of the program that wrote it, or a later one';
      throw new SnapshotError('UNSUPPORTED', `has the feature "${name}" (${number}), and ${known}`);
    }
    features.set(number, feature);
  }

  #takeSession({ lastApplied, answers, generation, ending, ...image }: SessionImage): void {
    const { sessions } = this.#state;
    const isNew = sessions.get(image.id) === undefined && sessions.bySecretHash(image.secretHash) === undefined;
    wellFormed(isNew && image.id <= this.#index, () => `has a session ${image.id} that cannot be`);
    const session = sessions.create(image);
    session.generation = generation;
    if (ending !== undefined) sessions.beginEnd(session, ending);
    this.#caches.push({ session, lastApplied, answers });
  }

  #takeNode(slot: NodeSlot, role: NodeRole, image: NodeImage): void {
    const { numbers } = image;
    for (const field of INDEX_FIELDS) {
      if ((numbers[field] ?? 0) > this.#index) throw malformed(`has a node in slot ${slot} of a later index`);
    }
    if (role.type === 'lock') this.#locks.push({ slot, role });
    else if (role.type === 'queueNode') this.#queueNodes.push({ slot, role });
    else if (numbers[NumberField.ephemeralOwner] !== 0) this.#ephemerals.push(slot);
    if (!this.#tree.place(slot, image)) this.#orphans.push({ slot, image: copyOf(image) });
  }

  #takeExtra(slot: NodeSlot, { tag, bytes }: NodeExtra): void {
    wellFormed(this.#features.has(tag), () => `has an extra of the tag ${tag}, which it does not name`);
    if (this.#tree.isUsed(slot)) this.#tree.placeExtra(slot, { tag, bytes });
    else this.#orphanExtras.push({ slot, extra: { tag, bytes: bytes.slice() } });
  }

  #takeFree(slot: NodeSlot): void {
    wellFormed(this.#free.length < this.#tree.slots, () => 'has more free slots than slots');
    this.#free.push(slot);
  }

  #takeEnd(records: number): void {
    wellFormed(records === this.#records, () => `has ${this.#records} records, not ${records}`);
    this.#ended = true;
  }

  #placeOrphanExtras(): void {
    for (const { slot, extra } of this.#orphanExtras) {
      wellFormed(this.#tree.isUsed(slot), () => `has an extra of slot ${slot}, which has no node`);
      this.#tree.placeExtra(slot, extra);
    }
  }

  /** Orphans whose parents have come meanwhile; an orphan may be the parent of another. */
  #adopt(): void {
    let before = Infinity;
    while (this.#orphans.length > 0 && this.#orphans.length < before) {
      before = this.#orphans.length;
      this.#orphans = this.#orphans.filter(({ slot, image }) => !this.#tree.place(slot, image));
    }
    wellFormed(this.#orphans.length === 0, () => `has ${this.#orphans.length} nodes without a parent`);
  }

  /** Queues in order of acquire indexes, whatever order their nodes came in. */
  #linkLocks(): void {
    const { locks, nodes, sessions } = this.#state;
    const restore = locks.beginRestore();
    for (const { slot, role } of this.#locks)
      if (role.type === 'lock') restore.addLock(slot, this.#lockKind(role.kind), this.#index);
    const inOrder = this.#queueNodes.sort((left, right) => nodes.czxid(left.slot) - nodes.czxid(right.slot));
    let last = 0;
    let lastOwner = 0;
    for (const { slot, role } of inOrder) {
      const acquireIndex = nodes.czxid(slot);
      const owner = nodes.ephemeralOwner(slot);
      // One of several locks has several nodes.
      const fits = acquireIndex > last || (acquireIndex === last && owner === lastOwner);
      wellFormed(fits, () => `has two acquires ${acquireIndex}`);
      last = acquireIndex;
      lastOwner = owner;
      if (role.type === 'queueNode') restore.addAcquire(slot, role.token, role.grantedAt);
    }
    // As they come where nothing was restored: the end of a session looks for its oldest.
    this.#ephemerals.sort((left, right) => nodes.czxid(left) - nodes.czxid(right));
    for (const slot of this.#ephemerals) {
      const owner = sessions.get(nodes.ephemeralOwner(slot));
      wellFormed(owner !== undefined, () => `has an ephemeral node in slot ${slot} without a session`);
      owner.ephemerals.add(slot);
    }
    restore.check();
  }

  #lockKind(number: number): LockKind {
    const kind = this.#state.rules.lockKinds[number];
    wellFormed(kind !== undefined, () => `has a lock of the unknown kind ${number}`);
    return kind;
  }

  #fillCaches(): void {
    for (const { session, lastApplied, answers } of this.#caches) {
      const cached = answers.map((answer): CachedReply => {
        if (typeof answer !== 'number') return answer;
        const acquire = this.#state.locks.acquiresOf(session).get(answer);
        wellFormed(
          acquire !== undefined,
          () => `has a session ${session.id} that has an answer of no acquire of its own`,
        );
        return acquire;
      });
      session.cache.restore(lastApplied, cached);
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

/** Beyond the limit come the heads of what queue nodes keep, and the delays of locks, which begin when nothing can be refused. */
function mostDataBytes({ maxTreeDataBytes, maxNodes, maxLockDelays }: StateLimits): number {
  return maxTreeDataBytes + maxNodes * QUEUE_NODE_HEADS_BYTES + maxLockDelays * DELAY_EXTRA_BYTES;
}

/** To be kept: what is read next is written over the other. */
function copyOf({ name, parent, data, numbers }: NodeImage): NodeImage {
  return { name, parent, data: data.slice(), numbers: numbers.slice() };
}
