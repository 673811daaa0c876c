/**
 * The disk of a replica: its log, its buckets, and what it has installed, in one engine. Writes happen in the order in which they are
 * asked for, each as one commit, and are durable when they resolve. What is still under way at a power failure is lost from the end. Nobody
 * waits for the buckets, since the log has all that they lack: they are brought up to date now and then.
 */

import type { Engine, Reader, Transaction } from '../../engines/engine.ts';
import type { Write } from '../../engines/group-commit.ts';
import { MAX_GROUP_COMMITS } from '../../limits.ts';
import { FORMAT_KEY } from '../../keyspace.ts';
import { invalidArgument } from '../../refusal.ts';
import { EMPTY_REPLICA, NOTHING_FORGOTTEN } from '../core/index.ts';
import type { CopyPart, CopyWrite, DurableReplica, DurableWrite, Entry, LogBase, ReplicaId } from '../core/index.ts';
import { decodeWrites, encodeWrites } from './payload.ts';
import {
  BUCKETS,
  decodeEntry,
  decodeReplica,
  encodeEntry,
  encodeReplica,
  entryKey,
  logRange,
  REPLICA_KEY,
  type ReplicaRecord,
} from './replica-keys.ts';

/** A part of a copy ends with the key that makes it so long. */
const PART_BYTES = 256 * 1024;
/** Keys that are looked at, or removed, at once: values have up to 1 MiB. */
const KEYS_AT_A_TIME = 16;
/** Writes that the buckets may lack before they are brought up to date. */
const MAX_LACKING_WRITES = 1_024;
/** The same, of their keys and values. */
const MAX_LACKING_BYTES: number = 4 * 1024 * 1024;

type Job =
  | { readonly type: 'commit'; readonly body: (transaction: Transaction) => void }
  | { readonly type: 'drop'; readonly record: ReplicaRecord };
type Waiting = Job & { readonly resolve: () => void; readonly reject: (error: unknown) => void };

interface Lacking {
  upTo: number;
  bytes: number;
  readonly writes: Write[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly ended: Promise<void>;
}

const ADOPTED: LogBase = { index: 1, epoch: 0 };

export class ReplicaStore {
  readonly #engine: Engine;
  /** With every write that was asked for. */
  #record: ReplicaRecord;
  readonly #waiting: Waiting[] = [];
  #draining = false;
  /** What the buckets lack, and nobody has asked the disk for yet. */
  #lacking: Lacking | undefined;

  private constructor(engine: Engine, record: ReplicaRecord) {
    this.#engine = engine;
    this.#record = record;
  }

  /**
   * Makes the replica where there is none, under a name that `newId` draws. Rejects with EngineError, and with RefusedError for a store that
   * has data and was in no group. With `adopt` that is taken as it is: by the one replica with which a group begins, and no other.
   */
  static async open(
    engine: Engine,
    newId: () => ReplicaId,
    { adopt = false }: { readonly adopt?: boolean } = {},
  ): Promise<ReplicaStore> {
    const record = await engine.commit((transaction) => {
      const stored = transaction.get(REPLICA_KEY);
      if (stored !== undefined) return decodeReplica(stored);
      const hasData = transaction.get(FORMAT_KEY) !== undefined;
      if (hasData && !adopt) {
        throw invalidArgument(
          'data',
          'this store has data of its own and was in no group; begin with an empty directory',
        );
      }
      const { entries: _none, ...nothing } = EMPTY_REPLICA;
      // What is there already counts as an entry that is forgotten: who lacks it gets a copy.
      const base = hasData ? ADOPTED : nothing.base;
      const start = { base, applied: base.index, lastIndex: base.index };
      const made: ReplicaRecord = { ...nothing, ...start, id: newId(), dropping: false };
      transaction.put(REPLICA_KEY, encodeReplica(made));
      return made;
    });
    const store = new ReplicaStore(engine, record);
    if (record.dropping) await store.#finishDrop(record);
    return store;
  }

  get id(): ReplicaId {
    return this.#record.id;
  }

  /** What is there after a start. */
  load(): DurableReplica {
    const { installed, base, applied, copy } = this.#record;
    const entries: Entry[] = [];
    this.#engine.read((reader) => {
      let { from, to } = logRange();
      for (;;) {
        const found = reader.range({ from, to, limit: KEYS_AT_A_TIME });
        entries.push(...found.map(({ key, value }) => decodeEntry(key, value)));
        const last = found.at(-1)?.key;
        if (last === undefined || found.length < KEYS_AT_A_TIME) return;
        from = behind(last);
      }
    });
    return { installed, base, applied, entries, copy };
  }

  /** Resolves when all of it is durable. Rejects with EngineError, after which the replica must stop. */
  async persist(write: DurableWrite): Promise<void> {
    // A copy makes other buckets, of which these writes are no part.
    if (write.copy !== undefined) this.flush();
    const before = this.#record;
    const after = recordAfter(before, write);
    this.#record = after;
    if (write.copy?.step === 'drop') return await this.#drop({ ...after, dropping: true });
    await this.#commit((transaction) => {
      const { truncateFrom, entries, base, copy } = write;
      if (truncateFrom !== undefined) removeEntries(transaction, truncateFrom, before.lastIndex);
      if (base !== undefined) removeEntries(transaction, before.base.index + 1, base.index);
      if (copy !== undefined && copy.step !== 'drop') applyWrites(transaction, decodeWrites(copy.part.chunk));
      for (const entry of entries) transaction.put(entryKey(entry.index), encodeEntry(entry));
      transaction.put(REPLICA_KEY, encodeReplica(after));
    });
  }

  /**
   * Brings the buckets to `upTo`: with {@link flush}, or when they lack enough. The writes are those of the entries that they lack, in their
   * order. Resolves when that is durable.
   */
  async apply(upTo: number, writes: readonly Write[]): Promise<void> {
    const lacking = (this.#lacking ??= newLacking());
    lacking.upTo = upTo;
    for (const write of writes) {
      lacking.writes.push(write);
      lacking.bytes += write.key.length + (write.value?.length ?? 0);
    }
    if (lacking.writes.length >= MAX_LACKING_WRITES || lacking.bytes >= MAX_LACKING_BYTES) this.flush();
    await lacking.ended;
  }

  /** Brings the buckets up to date. */
  flush(): void {
    const lacking = this.#lacking;
    if (lacking === undefined) return;
    this.#lacking = undefined;
    const after = { ...this.#record, applied: lacking.upTo };
    this.#record = after;
    const applying = this.#commit((transaction) => {
      applyWrites(transaction, lacking.writes);
      transaction.put(REPLICA_KEY, encodeReplica(after));
    });
    applying.then(lacking.resolve, lacking.reject);
  }

  /** A part of the buckets as they are now, durably. */
  readPart(from: string): CopyPart {
    return this.#engine.read((reader) => readPart(reader, from));
  }

  /** After everything that was asked for before. */
  async #commit(body: (transaction: Transaction) => void): Promise<void> {
    await this.#ask({ type: 'commit', body });
  }

  async #drop(record: ReplicaRecord): Promise<void> {
    await this.#ask({ type: 'drop', record });
  }

  async #ask(job: Job): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ ...job, resolve, reject });
      if (!this.#draining) void this.#drain();
    });
  }

  /** The engine takes so many commits at once and no more, and this replica must not be refused one: those that wait become one. */
  async #drain(): Promise<void> {
    this.#draining = true;
    await Promise.resolve(); // whatever the present turn still asks for
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const jobs = first.type === 'drop' ? this.#waiting.splice(0, 1) : this.#takeCommits();
      try {
        if (first.type === 'drop') await this.#dropNow(first.record);
        else await this.#engine.commit((transaction) => runAll(jobs, transaction));
        for (const { resolve } of jobs) resolve();
      } catch (error) {
        for (const { reject } of [...jobs, ...this.#waiting.splice(0)]) reject(error);
      }
    }
    this.#draining = false;
  }

  #takeCommits(): Waiting[] {
    const end = this.#waiting.findIndex(({ type }) => type === 'drop');
    return this.#waiting.splice(0, Math.min(MAX_GROUP_COMMITS, end === -1 ? this.#waiting.length : end));
  }

  async #dropNow(record: ReplicaRecord): Promise<void> {
    await this.#engine.commit((transaction) => transaction.put(REPLICA_KEY, encodeReplica(record)));
    await this.#finishDrop(record);
  }

  /** Piece by piece: a crash on the way leaves a record that says so. */
  async #finishDrop(record: ReplicaRecord): Promise<void> {
    for (const range of [BUCKETS, logRange()]) {
      for (;;) {
        const found = this.#engine.read((reader) => reader.range({ ...range, limit: KEYS_AT_A_TIME }));
        if (found.length === 0) break;
        await this.#engine.commit((transaction) => {
          for (const { key } of found) transaction.delete(key);
        });
      }
    }
    const done = { ...record, dropping: false };
    if (this.#record.dropping) this.#record = done;
    await this.#engine.commit((transaction) => transaction.put(REPLICA_KEY, encodeReplica(done)));
  }
}

function newLacking(): Lacking {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => {}, () => {}];
  const ended = new Promise<void>((onEnd, onError) => {
    [resolve, reject] = [onEnd, onError];
  });
  return { upTo: 0, bytes: 0, writes: [], resolve, reject, ended };
}

function runAll(jobs: readonly Waiting[], transaction: Transaction): void {
  for (const job of jobs) if (job.type === 'commit') job.body(transaction);
}

function recordAfter(record: ReplicaRecord, write: DurableWrite): ReplicaRecord {
  const { installed, truncateFrom, entries, base, copy } = write;
  let after = record;
  if (installed !== undefined) after = { ...after, installed };
  if (copy !== undefined) after = afterCopy(after, copy);
  if (base !== undefined) after = { ...after, base };
  if (truncateFrom !== undefined) after = { ...after, lastIndex: truncateFrom - 1 };
  return { ...after, lastIndex: after.lastIndex + entries.length };
}

function afterCopy(record: ReplicaRecord, copy: CopyWrite): ReplicaRecord {
  switch (copy.step) {
    case 'drop': {
      const { epoch, copy: number, cursor } = copy;
      return { ...record, base: NOTHING_FORGOTTEN, applied: 0, lastIndex: 0, copy: { epoch, copy: number, cursor } };
    }
    case 'part':
      return { ...record, copy: { ...record.copy, cursor: copy.part.to } };
    case 'end': {
      const { index } = copy.base;
      return {
        ...record,
        base: copy.base,
        applied: index,
        lastIndex: index,
        copy: { ...record.copy, cursor: undefined },
      };
    }
  }
}

function removeEntries(transaction: Transaction, from: number, to: number): void {
  for (let index = from; index <= to; index += 1) transaction.delete(entryKey(index));
}

function applyWrites(transaction: Transaction, writes: readonly Write[]): void {
  for (const { key, value } of writes) {
    if (value === undefined) transaction.delete(key);
    else transaction.put(key, value);
  }
}

function readPart(reader: Reader, from: string): CopyPart {
  const writes: Write[] = [];
  let bytes = 0;
  let cursor = from;
  for (;;) {
    const start = cursor === '' ? BUCKETS.from : behind(Buffer.from(cursor, 'hex'));
    const found = reader.range({ from: start, to: BUCKETS.to, limit: KEYS_AT_A_TIME });
    for (const { key, value } of found) {
      writes.push({ key, value });
      bytes += key.length + value.length;
      cursor = Buffer.from(key).toString('hex');
      if (bytes >= PART_BYTES) return { from, to: cursor, last: false, chunk: encodeWrites(writes) };
    }
    if (found.length < KEYS_AT_A_TIME) return { from, to: cursor, last: true, chunk: encodeWrites(writes) };
  }
}

/** The first key after this one. */
function behind(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
