import { crc32 } from 'node:zlib';
import { silentLogger, type Clock, type Network, type Random } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import {
  ENTRY_OVERHEAD_BYTES,
  decodeConfiguration,
  encodeConfiguration,
  logIndex,
  serverId,
  term,
  withMember,
  type Effect,
  type Entry,
  type LogIndex,
  type Message,
  type RaftEvent,
} from '../../src/core/index.ts';
import { ApplyLoop } from '../../src/driver/apply-loop.ts';
import { MemoryLogStore } from '../../src/log-store/contract/memory-log-store.ts';
import type { SnapshotMeta, SnapshotSink } from '../../src/log-store/contract/snapshot.ts';
import type { ReplicaMachine } from '../../src/machine.ts';
import { DEFAULT_SNAPSHOT_OPTIONS } from '../../src/snapshots/snapshot-options.ts';
import { ReplicaSnapshots } from '../../src/snapshots/replica-snapshots.ts';
import { added, appendOf, configurationEntry, three } from '../core/support/membership.ts';
import { ScriptedCore, append, entry, heartbeat } from '../core/support/scripted-core.ts';
import { Line, settled } from './support/line.ts';

const STATE = new Uint8Array([1, 2, 3]);
/** Entries of a byte after which a snapshot is taken. */
const TAKEN_AFTER = 3;
const ENTRY_BYTES = 1 + ENTRY_OVERHEAD_BYTES;

/** Writes of snapshots end when the test lets them. */
class GatedStore extends MemoryLogStore {
  gate: Promise<void> = Promise.resolve();

  hold(): () => void {
    let open = (): void => {};
    this.gate = new Promise((resolve) => (open = resolve));
    return open;
  }

  override async createSnapshot(meta: SnapshotMeta): Promise<SnapshotSink> {
    const sink = await super.createSnapshot(meta);
    if (meta.origin === 'received') return sink;
    return { ...sink, bytes: 0, write: (bytes) => this.gate.then(() => sink.write(bytes)) };
  }
}

/** The snapshots of a follower of server 2 whose turns are the test's: core, apply loop and snapshots as in a replica. */
class Follower {
  readonly script = new ScriptedCore();
  readonly store = new GatedStore();
  /** What became of the machine, in order. */
  readonly story: string[] = [];
  readonly applied: number[] = [];
  readonly errors: unknown[] = [];
  readonly #applies: ApplyLoop;
  readonly snapshots: ReplicaSnapshots;
  #events: RaftEvent[] = [];
  #behindGate = false;

  constructor() {
    const { core } = this.script;
    const clock: Clock = {
      monotonicMs: () => 0,
      wallMs: () => 0,
      setTimer: () => ({ cancel: () => {} }),
      afterPoll: (run) => queueMicrotask(run),
    };
    this.#applies = new ApplyLoop(
      { core, store: this.store, clock },
      {
        apply: (applied: Entry) => {
          this.applied.push(applied.index);
          this.snapshots.applied(applied);
        },
        wake: () => {},
        failed: (error) => this.errors.push(error),
      },
    );
    this.snapshots = new ReplicaSnapshots(
      {
        options: {
          ...DEFAULT_SNAPSHOT_OPTIONS,
          snapshotLogBytes: TAKEN_AFTER * ENTRY_BYTES,
          snapshotTrailingBytes: 1_000_000,
        },
        store: this.store,
        machine: this.#machine() as ReplicaMachine,
        core,
        applies: this.#applies,
        observer: { snapshotTaken: ({ index }) => this.story.push(`took ${index}`) },
        route: () => undefined,
        event: (event) => this.#events.push(event),
        wake: () => {},
        failed: (error) => this.errors.push(error),
      },
      { clock, network: {} as Network, random: {} as Random, logger: silentLogger },
    );
  }

  /** Hears these messages of its leader, and what is durable, applied and to be done follows at once. */
  async turn(...messages: Message[]): Promise<void> {
    const heard = messages.map((message): RaftEvent => ({ type: 'message', from: serverId(2), message }));
    const effects = [...this.script.step(...this.#events.splice(0), ...heard), ...this.script.durable()];
    for (const effect of effects) {
      if (effect.type === 'persist') await this.#write(effect);
      if (effect.type === 'restore') this.snapshots.restore(effect.position);
      if (effect.type === 'apply') this.#applies.commit(effect.upTo);
    }
    this.#applies.run();
    this.script.step({ type: 'applied', index: this.#applies.applied });
    this.snapshots.endTurn();
    await settled();
    expect(this.errors).toEqual([]);
  }

  /** What replaces the log takes as long as the snapshots do. */
  async #write({ hardState, snapshot, truncateFrom, entries }: Extract<Effect, { type: 'persist' }>): Promise<void> {
    const batch = {
      ...(hardState === undefined ? {} : { hardState }),
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(truncateFrom === undefined ? {} : { truncateFrom }),
      entries,
    };
    if (snapshot !== undefined) this.#behindGate = true;
    const writing = this.#behindGate ? this.store.gate.then(() => this.store.write(batch)) : this.store.write(batch);
    writing.catch((error: unknown) => this.errors.push(error));
    if (!this.#behindGate) await writing;
  }

  /** So many more entries, all committed. */
  async apply(count: number): Promise<void> {
    const { lastIndex, commitIndex } = this.script.status;
    expect(commitIndex).toBe(lastIndex);
    await this.turn(append(1, [lastIndex, lastIndex === 0 ? 0 : 1], oneTerm(count), lastIndex + count));
  }

  /** Its leader begins to send a snapshot. */
  async offered(index: number): Promise<Line> {
    const line = new Line((self) => this.snapshots.accept(serverId(2), self));
    await line.say({
      type: 'offer',
      leaderTerm: term(1),
      logBase: logIndex(index),
      index: logIndex(index),
      term: term(1),
      bytes: STATE.length,
      crc: crc32(STATE),
      configuration: encodeConfiguration(three),
    });
    return line;
  }

  /** A whole snapshot of the leader arrives. */
  async receive(index: number): Promise<void> {
    const line = await this.offered(index);
    await line.say({ type: 'chunk', offset: 0, data: STATE }, { type: 'end' });
  }

  /** The configuration of its newest snapshot. */
  get members(): readonly number[] {
    const { configuration } = this.store.snapshot ?? {};
    if (configuration === undefined) throw new Error('there is no snapshot');
    return decodeConfiguration(configuration).members.map(({ id }) => id);
  }

  #machine(): Pick<ReplicaMachine, 'beginSnapshot' | 'restore'> {
    return {
      beginSnapshot: () => {
        const of = this.#applies.applied;
        let handedOut = false;
        this.story.push(`begins ${of}`);
        return {
          next: () => {
            const slice = handedOut ? undefined : STATE.slice();
            handedOut = true;
            return slice;
          },
          cancel: () => this.story.push(`cancels ${of}`),
        };
      },
      restore: async (index: LogIndex, bytes) => {
        for await (const part of bytes) expect(part.length).toBeGreaterThan(0);
        return { adopt: () => this.story.push(`adopts ${index}`) };
      },
    };
  }
}

const oneTerm = (count: number) => Array.from({ length: count }, () => 1);

describe('a snapshot that is taken', () => {
  const four = withMember(three, added(4));
  const five = withMember(four, added(5));

  it('holds the configuration that was applied last, and none behind it, which may yet be cut from the log [snapshot-misses-config-just-applied] [snapshot-persists-uncommitted-config]', async () => {
    const follower = new Follower();
    const log = [entry(1, 1), entry(2, 1), configurationEntry(3, 1, four), configurationEntry(4, 1, five)];
    await follower.turn({ ...appendOf(1, [0, 0], log), commit: logIndex(3) } as Message);
    expect(follower.script.core.configuration).toMatchObject({ index: 4, configuration: five });
    expect(follower.store.snapshot?.index).toBe(3);
    expect(follower.members).toEqual([1, 2, 3, 4]);
  });

  it('is followed by the next one at once when as much was applied while it was written [snapshot-trigger-lost-while-building]', async () => {
    const follower = new Follower();
    const release = follower.store.hold();
    await follower.apply(TAKEN_AFTER);
    await follower.apply(TAKEN_AFTER);
    await follower.apply(1);
    expect(follower.story).toEqual(['begins 3']);
    release();
    await settled();
    expect(follower.story).toEqual(['begins 3', 'took 3']);
    await follower.turn();
    expect(follower.story).toEqual(['begins 3', 'took 3', 'begins 7', 'took 7']);
    await follower.turn();
    expect(follower.story).toHaveLength(4);
  });
});

describe('a received snapshot', () => {
  it('is adopted when the one that is being taken has let the machine go, and leaves no file of that', async () => {
    const follower = new Follower();
    const release = follower.store.hold();
    await follower.apply(TAKEN_AFTER);
    await follower.receive(20);
    await follower.turn();
    expect(follower.story).toEqual(['begins 3', 'cancels 3']);
    release();
    await settled();
    expect(follower.story).toEqual(['begins 3', 'cancels 3', 'adopts 20']);
    expect(follower.store.snapshot?.index).toBe(20);
  });

  it('is never overtaken by entries behind it: what commits meanwhile is applied to the new state [install-races-apply]', async () => {
    const follower = new Follower();
    const release = follower.store.hold();
    await follower.apply(TAKEN_AFTER);
    // Two more that are not committed, and still on disk while the log is being replaced.
    await follower.turn(append(1, [TAKEN_AFTER, 1], [1, 1], TAKEN_AFTER));
    await follower.receive(20);
    await follower.turn();
    for (let turn = 0; turn < 3; turn += 1) await follower.turn(append(1, [20, 1], [1, 1], 22));
    expect(follower.applied).toEqual([1, 2, 3]);
    release();
    await settled();
    await follower.turn();
    expect(follower.applied).toEqual([1, 2, 3, 21, 22]);
    expect(follower.story.at(-1)).toBe('adopts 20');
  });

  it('goes on arriving whatever else is heard of its leader, or of the next one [heartbeat-aborts-incoming-snapshot]', async () => {
    const follower = new Follower();
    await follower.apply(1);
    const line = await follower.offered(20);
    await line.say({ type: 'chunk', offset: 0, data: STATE.subarray(0, 1) });
    await follower.turn(heartbeat(1), append(1, [9, 1]), heartbeat(1, 1, 2));
    await follower.turn(heartbeat(2));
    await line.say({ type: 'chunk', offset: 1, data: STATE.subarray(1) }, { type: 'end' });
    expect(line.heard.map(({ type }) => type)).toEqual(['resume', 'written', 'written', 'installed']);
    await follower.turn();
    await settled();
    expect(follower.story).toEqual(['adopts 20']);
    expect(follower.script.status).toMatchObject({ term: 2, commitIndex: 20 });
  });
});

describe('a replica that stops', () => {
  it('lets go of the snapshot that is being received', async () => {
    const follower = new Follower();
    let [made, aborted] = [0, 0];
    const createSnapshot = follower.store.createSnapshot.bind(follower.store);
    follower.store.createSnapshot = async (meta) => {
      const sink = await createSnapshot(meta);
      const abort = sink.abort.bind(sink);
      made += 1;
      return Object.assign(sink, { abort: () => ((aborted += 1), abort()) });
    };
    await follower.offered(20);
    expect([made, aborted]).toEqual([1, 0]);
    follower.snapshots.stopSpeaking();
    await follower.snapshots.stop();
    expect(aborted).toBe(1);
  });
});
