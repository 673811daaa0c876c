/**
 * Natural group commit: one durable write is under way at a time, and what arrives meanwhile is the next one. A body runs when it is asked
 * for, on top of everything that was asked for before, so judging the next group overlaps with the sync of the present one. Bodies run one
 * after another; nobody is answered before what it saw is durable. It leaves how a group becomes durable to its `persist`.
 */

import type { CommitFigures, Transaction } from './engine.ts';
import { describeError, EngineError } from './engine-error.ts';
import { MAX_GROUP_COMMITS, MAX_WAITING_COMMITS } from '../limits.ts';

export interface Write {
  readonly key: Uint8Array;
  /** Undefined: the key is deleted. */
  readonly value: Uint8Array | undefined;
}

export type Get = (key: Uint8Array) => Uint8Array | undefined;

export interface GroupCommitDeps {
  /** What is there without the groups that have not ended. */
  readonly get: Get;
  /** Makes the writes durable, all or none; each key is there once. From then on {@link get} shows them. None: those before it are durable. */
  readonly persist: (writes: readonly Write[]) => Promise<void>;
  /** Called once, with what `persist` has failed with. */
  readonly onFailure: (error: EngineError) => void;
}

export interface GroupCommitOptions {
  /** A group takes no more commits when its keys and values have so many bytes. @default no bound */
  readonly maxGroupBytes?: number;
}

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  readonly #maxGroupBytes: number;
  /** In their order; the first one may be under way, and the last one may take more. */
  readonly #groups: Group[] = [];
  #underWay: Group | undefined;
  #waiting = 0;
  #asked = false;
  #failure: EngineError | undefined;
  #closed = false;
  #commits = 0;
  #groupsEnded = 0;

  constructor(deps: GroupCommitDeps, { maxGroupBytes = Infinity }: GroupCommitOptions = {}) {
    this.#deps = deps;
    this.#maxGroupBytes = maxGroupBytes;
  }

  get figures(): CommitFigures {
    return { commits: this.#commits, groups: this.#groupsEnded, waiting: this.#waiting };
  }

  /** Throws unless the engine is in use. */
  assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closed) throw new EngineError('CLOSED', 'the store is closed');
  }

  commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.assertUsable();
      if (this.#waiting >= MAX_WAITING_COMMITS) {
        throw new EngineError('OVERLOADED', `${MAX_WAITING_COMMITS} writes are waiting for the disk; try again later`);
      }
      const group = this.#openGroup();
      this.#waiting += 1;
      const staged = new StagedCommit(group, this.#get);
      try {
        const result = body(staged);
        group.add(() => resolve(result), reject);
      } catch (error) {
        staged.takeBack();
        // What a refusal tells of may not be durable yet.
        group.add(() => reject(error), reject);
      }
      this.#ask();
    });
  }

  /** Nothing more is taken; what waits and has not begun fails with this error. What is under way comes to its own end. */
  end(error: EngineError): void {
    this.#failure ??= error;
    for (const group of this.#groups.splice(this.#underWay === undefined ? 0 : 1)) group.fail(error);
    this.#waiting = 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (let last = this.#groups.at(-1); last !== undefined; last = this.#groups.at(-1)) await last.ended;
  }

  readonly #get: Get = (key) => {
    if (this.#groups.length > 0) {
      const name = mapKey(key);
      for (let at = this.#groups.length - 1; at >= 0; at -= 1) {
        const write = this.#groups[at]?.writes.get(name);
        if (write !== undefined) return write.value;
      }
    }
    return this.#deps.get(key);
  };

  #openGroup(): Group {
    const last = this.#groups.at(-1);
    if (
      last !== undefined &&
      last !== this.#underWay &&
      last.size < MAX_GROUP_COMMITS &&
      last.bytes < this.#maxGroupBytes
    )
      return last;
    const group = new Group();
    this.#groups.push(group);
    return group;
  }

  #ask(): void {
    if (this.#asked || this.#underWay !== undefined || this.#groups.length === 0) return;
    this.#asked = true;
    void this.#beginNext();
  }

  async #beginNext(): Promise<void> {
    await Promise.resolve(); // whatever the present turn still asks for joins the first group
    this.#asked = false;
    const [group] = this.#groups;
    if (group === undefined) return;
    this.#underWay = group;
    this.#waiting -= group.size;
    try {
      await this.#deps.persist([...group.writes.values()]);
    } catch (error) {
      this.#fail(error, group);
      return;
    }
    this.#groups.shift();
    this.#underWay = undefined;
    this.#groupsEnded += 1;
    this.#commits += group.size;
    group.complete();
    this.#ask();
  }

  #fail(cause: unknown, group: Group): void {
    const failure =
      cause instanceof EngineError
        ? cause
        : new EngineError('DISK_ERROR', `a write could not be made durable: ${describeError(cause)}`, {
            cause,
            indeterminate: true,
          });
    this.#groups.shift();
    this.#underWay = undefined;
    group.fail(failure);
    if (this.#failure !== undefined) return;
    // Later callers' writes never reached the disk.
    const stopped = `the store stopped after an error: ${failure.message}`;
    this.end(new EngineError(failure.code, stopped, { cause: failure }));
    this.#deps.onFailure(failure);
  }
}

/** Commits that become durable together. */
class Group {
  readonly writes = new Map<string, Write>();
  /** Resolves when it has come to its end, whatever that is. */
  readonly ended: Promise<void>;
  /** Of keys and values that were staged, those that others have replaced included. */
  bytes = 0;
  readonly #jobs: { readonly complete: () => void; readonly fail: (error: EngineError) => void }[] = [];
  #end: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get size(): number {
    return this.#jobs.length;
  }

  /** Returns the write of the same key that it replaces. */
  stage(name: string, write: Write): Write | undefined {
    const before = this.writes.get(name);
    this.writes.set(name, write);
    this.bytes += write.key.length + (write.value?.length ?? 0);
    return before;
  }

  add(complete: () => void, fail: (error: EngineError) => void): void {
    this.#jobs.push({ complete, fail });
  }

  complete(): void {
    for (const job of this.#jobs) job.complete();
    this.#end();
  }

  fail(error: EngineError): void {
    for (const job of this.#jobs) job.fail(error);
    this.#end();
  }
}

/** What one body writes, on top of its group. Where it throws, all of it is taken back. */
class StagedCommit implements Transaction {
  readonly #group: Group;
  readonly get: Get;
  readonly #replaced: { readonly name: string; readonly before: Write | undefined }[] = [];

  constructor(group: Group, get: Get) {
    this.#group = group;
    this.get = get;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#stage({ key, value });
  }

  delete(key: Uint8Array): void {
    this.#stage({ key, value: undefined });
  }

  takeBack(): void {
    const { writes } = this.#group;
    for (const { name, before } of this.#replaced.toReversed()) {
      if (before === undefined) writes.delete(name);
      else writes.set(name, before);
    }
  }

  #stage(write: Write): void {
    const name = mapKey(write.key);
    this.#replaced.push({ name, before: this.#group.stage(name, write) });
  }
}

/** One character a byte: equal for equal bytes, and ordered as the bytes are. */
export function mapKey(key: Uint8Array): string {
  const bytes = key instanceof Buffer ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return bytes.toString('latin1');
}
