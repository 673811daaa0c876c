/**
 * A replica of a group: its core, bound to its disk. It carries out what the core asks for, in the order in which it asks; a message leaves
 * when what it tells is durable. It leaves to its ports how messages travel, and how the configuration node is read and written.
 */

import type { Engine, Snapshot } from '../../engines/engine.ts';
import { describeError, EngineError } from '../../engines/engine-error.ts';
import type { Write } from '../../engines/group-commit.ts';
import { ReplicationCore } from '../core/index.ts';
import type {
  Configuration,
  Effect,
  Epoch,
  Message,
  ReplicaId,
  ReplicationEvent,
  ReplicationOptions,
  Rules,
  StepDownReason,
} from '../core/index.ts';
import { Overlay } from './overlay.ts';
import { decodeWrites, encodeWrites } from './payload.ts';
import { bucketsOf, isReplicaKey } from './replica-keys.ts';
import type { ReplicaStore } from './replica-store.ts';
import { ReplicatedEngine } from './replicated-engine.ts';
import { Tickets } from './tickets.ts';

/** A longer log forgets its older half. */
const MAX_LOG_BYTES = 32 * 1024 * 1024;
const MAX_LOG_ENTRIES = 100_000;
const LOG_SHARES = 8;

interface ReplicaPorts {
  /** The message may be lost. */
  send(to: ReplicaId, message: Message): void;
  /** Sets the configuration node if it has that version. What the node has then is told by a `configuration` event. */
  writeConfiguration(expectedVersion: number, configuration: Configuration): void;
  /** The replica is primary: a store may be opened on the engine, and serve until the epoch ends. */
  serving(epoch: Epoch, engine: ReplicatedEngine): void;
  /** Release the lock under this epoch. */
  steppedDown(epoch: Epoch, reason: StepDownReason): void;
  /** The disk has failed, or a rule is broken: the process must stop. Called once. */
  failed(error: Error): void;
}

export interface ReplicaOptions extends Omit<ReplicationOptions, 'self'> {
  /** @default 32 MiB */
  readonly maxLogBytes?: number;
  /** @default 100,000 */
  readonly maxLogEntries?: number;
  /** @internal Tests break them. */
  readonly rules?: Rules;
}

export class Replica {
  readonly #engine: Engine;
  readonly #store: ReplicaStore;
  readonly #options: ReplicaOptions;
  readonly #ports: ReplicaPorts;
  readonly #core: ReplicationCore;
  readonly #tickets = new Tickets();
  /** What is committed, and not in the buckets yet. */
  readonly #unapplied = new Overlay();
  /** What the buckets will have, when all that was asked for is done. */
  #appliedAsked: number;
  #held: { readonly after: number; readonly release: () => void }[] = [];
  #durableSeq = 0;
  readonly #events: ReplicationEvent[] = [];
  /** What is told when a step is over. */
  readonly #told: (() => void)[] = [];
  /** What was applied since the log was looked at. */
  #grown = { entries: 0, bytes: 0 };
  #running = false;
  #primary: ReplicatedEngine | undefined;
  #failed = false;

  /** `store`: of the same engine, which nobody else writes to. */
  constructor(engine: Engine, store: ReplicaStore, options: ReplicaOptions, ports: ReplicaPorts) {
    this.#engine = engine;
    this.#store = store;
    this.#options = options;
    this.#ports = ports;
    const durable = store.load();
    this.#appliedAsked = durable.applied;
    this.#core = new ReplicationCore({ ...options, self: store.id }, durable, options.rules);
  }

  get id(): ReplicaId {
    return this.#store.id;
  }

  get status(): ReplicationCore['status'] {
    return this.#core.status;
  }

  /** The buckets with everything that is committed, and nothing else. `snapshot`: of the engine, taken in this turn. */
  committedIn(snapshot: Snapshot): Snapshot {
    const above = this.#unapplied.copy();
    return {
      read: (body) => snapshot.read((reader) => body(above.over(bucketsOf(reader)))),
      close: () => snapshot.close(),
    };
  }

  /** Brings the buckets up to what is committed, where nothing else is to be written. */
  flush(): void {
    if (!this.#failed) this.#store.flush();
  }

  /** A failure is told to {@link ReplicaPorts.failed}, and nothing happens any more. */
  step(event: ReplicationEvent): void {
    this.#events.push(event);
    if (this.#running) return;
    this.#running = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        if (this.#failed) continue;
        for (const effect of this.#core.step(next)) this.#carryOut(effect);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#running = false;
    }
    for (const tell of this.#told.splice(0)) tell();
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        return this.#persist(effect);
      case 'apply':
        return this.#apply(effect.upTo);
      case 'send':
        return this.#when(effect.after, () => this.#ports.send(effect.to, effect.message));
      case 'write-configuration': {
        const { expectedVersion, configuration } = effect;
        return this.#when(effect.after, () => this.#ports.writeConfiguration(expectedVersion, configuration));
      }
      case 'read-copy': {
        const { replica, copy, from } = effect;
        return this.step({ type: 'copy-read', replica, copy, part: this.#store.readPart(from) });
      }
      case 'acknowledged':
      case 'read-ready':
        return this.#tickets.done(effect.ticket);
      case 'rejected':
        return this.#tickets.failed(effect.tickets, notPrimary(false));
      case 'unknown':
        return this.#tickets.failed(effect.tickets, notPrimary(true));
      case 'serving':
        return this.#serve(effect.epoch);
      case 'stepped-down':
        this.#primary?.end(notPrimary(false));
        this.#primary = undefined;
        return this.#ports.steppedDown(effect.epoch, effect.reason);
    }
  }

  #persist(effect: Extract<Effect, { type: 'persist' }>): void {
    const { seq, copy } = effect;
    if (copy?.step === 'drop') {
      this.#unapplied.clear();
      this.#appliedAsked = 0;
    }
    if (copy?.step === 'end') this.#appliedAsked = copy.base.index;
    this.#store.persist(effect).then(
      () => {
        this.#durableSeq = Math.max(this.#durableSeq, seq);
        const ready = this.#held.filter(({ after }) => after <= seq);
        this.#held = this.#held.filter(({ after }) => after > seq);
        for (const { release } of ready) release();
        this.step({ type: 'persisted', seq });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #apply(upTo: number): void {
    const writes: Write[] = [];
    const applied = { entries: upTo - this.#appliedAsked, bytes: 0 };
    for (let index = this.#appliedAsked + 1; index <= upTo; index += 1) {
      const entry = this.#core.entryAt(index);
      if (entry === undefined) throw new Error(`entry ${index} is committed, and is not in the log`);
      if (entry.payload === undefined) continue;
      applied.bytes += entry.payload.length;
      for (const write of decodeWrites(entry.payload)) writes.push(write);
    }
    this.#appliedAsked = upTo;
    this.#unapplied.add(upTo, writes);
    this.#store.apply(upTo, writes).then(
      () => {
        this.#unapplied.drop(upTo);
        this.step({ type: 'applied', upTo });
        this.#forget(applied);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  /** Looks at the whole log, but only when it has grown by a share of what it may have. */
  #forget(applied: { readonly entries: number; readonly bytes: number }): void {
    const { maxLogBytes = MAX_LOG_BYTES, maxLogEntries = MAX_LOG_ENTRIES } = this.#options;
    this.#grown.entries += applied.entries;
    this.#grown.bytes += applied.bytes;
    const enough = this.#grown.entries > maxLogEntries / LOG_SHARES || this.#grown.bytes > maxLogBytes / LOG_SHARES;
    if (!enough) return;
    this.#grown = { entries: 0, bytes: 0 };
    const { entries } = this.#core;
    let bytes = 0;
    let upTo = 0;
    for (const [at, { index, payload }] of [...entries].toReversed().entries()) {
      bytes += payload?.length ?? 0;
      if (upTo === 0 && (bytes > maxLogBytes / 2 || at >= maxLogEntries / 2)) upTo = index;
    }
    if (bytes > maxLogBytes || entries.length > maxLogEntries) this.step({ type: 'forget', upTo });
  }

  #serve(epoch: Epoch): void {
    const get = (key: Uint8Array): Uint8Array | undefined =>
      this.#unapplied.get(key, (each) =>
        isReplicaKey(each) ? undefined : this.#engine.read((reader) => reader.get(each)),
      );
    const primary = new ReplicatedEngine({
      read: (body) => this.#engine.read((reader) => body(this.#unapplied.over(bucketsOf(reader)))),
      get,
      propose: async (writes) => {
        const { ticket, ended } = this.#tickets.draw();
        this.step({ type: 'propose', ticket, payload: encodeWrites(writes) });
        await ended;
      },
      confirm: async () => {
        const { ticket, ended } = this.#tickets.draw();
        this.step({ type: 'read', ticket });
        await ended;
      },
    });
    this.#primary = primary;
    // Whoever hears it may write at once: not within a step.
    this.#told.push(() => {
      if (this.#primary === primary) this.#ports.serving(epoch, primary);
    });
  }

  #when(after: number | undefined, release: () => void): void {
    if (after === undefined || after <= this.#durableSeq) release();
    else this.#held.push({ after, release });
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    const cause = error instanceof Error ? error : new Error(describeError(error));
    const ended = new EngineError('DISK_ERROR', `the replica stopped after an error: ${cause.message}`, {
      cause,
      indeterminate: true,
    });
    this.#primary?.end(ended);
    this.#tickets.failAll(ended);
    this.#ports.failed(cause);
  }
}

function notPrimary(indeterminate: boolean): EngineError {
  const outcome = indeterminate ? 'this write may have happened, or may happen yet' : 'nothing of this call happened';
  return new EngineError(
    'CLOSED',
    `this replica is not the primary of its group any more; ${outcome}; ask the primary`,
    {
      indeterminate,
    },
  );
}
