import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DiskError, silentLogger } from '@holdfast/runtime';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../src/core/index.ts';
import { MemoryLogStore } from '../../src/log-store/contract/memory-log-store.ts';
import type { SnapshotMeta, SnapshotSink } from '../../src/log-store/contract/snapshot.ts';
import type { SnapshotMessage, SnapshotOffer } from '../../src/snapshots/snapshot-codec.ts';
import { SnapshotReceiver } from '../../src/snapshots/snapshot-receiver.ts';
import { Line, settled } from './support/line.ts';

const CONFIGURATION = encodeConfiguration(initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }]));

const STATE = Uint8Array.from({ length: 1_000 }, (_, at) => (at * 7) % 256);

function offer(index: number, fields: Partial<SnapshotOffer> = {}): SnapshotOffer {
  const position = { index: logIndex(index), term: term(2), leaderTerm: term(3), logBase: logIndex(index) };
  return {
    type: 'offer',
    ...position,
    bytes: STATE.length,
    crc: crc32(STATE),
    configuration: CONFIGURATION,
    ...fields,
  };
}

class FullStore extends MemoryLogStore {
  aborted = 0;

  override async createSnapshot(meta: SnapshotMeta): Promise<SnapshotSink> {
    const sink = await super.createSnapshot(meta);
    return {
      ...sink,
      bytes: 0,
      write: async () => {
        throw new DiskError('NO_SPACE', 'file', 'the disk is full');
      },
      abort: async () => {
        this.aborted += 1;
      },
    };
  }
}

class Scene {
  readonly store: MemoryLogStore;
  readonly received: number[] = [];
  readonly errors: unknown[] = [];
  readonly logged: object[] = [];
  nowMs = 0;
  refused = 0;
  /** What the machine does with the bytes of a snapshot. */
  restore: () => Promise<void> = async () => {};
  readonly timers: { readonly run: () => void; cancelled: boolean }[] = [];
  committed = 5;
  busy = false;
  readonly receiver: SnapshotReceiver;

  constructor(store = new MemoryLogStore()) {
    this.store = store;
    const setTimer = (_delayMs: number, run: () => void) => {
      const timer = { run, cancelled: false };
      this.timers.push(timer);
      return { cancel: () => (timer.cancelled = true) };
    };
    this.receiver = new SnapshotReceiver({
      store,
      clock: { monotonicMs: () => this.nowMs, wallMs: () => 0, setTimer, afterPoll: (run) => run() },
      logger: { ...silentLogger, error: (fields) => this.logged.push(fields) },
      commitIndex: () => logIndex(this.committed),
      busy: () => this.busy,
      restore: async (_index, bytes) => {
        const parts: Uint8Array[] = [];
        for await (const part of bytes) {
          parts.push(Uint8Array.from(part));
          await this.restore();
        }
        expect(Buffer.concat(parts)).toEqual(Buffer.from(STATE));
        return { adopt: () => {} };
      },
      received: (_from, { index }) => this.received.push(index),
      refused: () => (this.refused += 1),
      failed: (error) => this.errors.push(error),
    });
  }

  connect(peer = 2): Line {
    return new Line((line) => this.receiver.accept(serverId(peer), line));
  }

  /** All of a snapshot from the peer. */
  async bring(index: number, peer = 2): Promise<Line> {
    const line = this.connect(peer);
    await line.say(offer(index), chunk(0, 1_000), { type: 'end' });
    return line;
  }
}

const chunk = (offset: number, end: number): SnapshotMessage => ({
  type: 'chunk',
  offset,
  data: STATE.subarray(offset, end),
});

describe('a receiver of snapshots', () => {
  it('writes what arrives, acknowledges it, and tells of the whole once it is durable', async () => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20));
    await line.say(chunk(0, 400), chunk(400, 1_000), { type: 'end' });
    expect(line.heard).toEqual([
      { type: 'resume', offset: 0 },
      { type: 'written', offset: 400 },
      { type: 'written', offset: 1_000 },
      { type: 'installed', index: 20 },
    ]);
    expect(scene.received).toEqual([20]);
    expect(scene.store.snapshot).toMatchObject({
      index: 20,
      term: 2,
      origin: 'received',
      configuration: CONFIGURATION,
    });
  });

  it('goes on with the same bytes on another connection, whoever sends them', async () => {
    const scene = new Scene();
    const first = scene.connect();
    await first.say(offer(20), chunk(0, 400));
    first.destroy();
    const second = scene.connect();
    await second.say(offer(20, { leaderTerm: term(4) }));
    expect(second.heard).toEqual([{ type: 'resume', offset: 400 }]);
    await second.say(chunk(400, 1_000), { type: 'end' });
    expect(scene.received).toEqual([20]);
  });

  it('begins anew with other bytes of the same position', async () => {
    const scene = new Scene();
    await scene.connect().say(offer(20), chunk(0, 400));
    const other = scene.connect();
    await other.say(offer(20, { crc: 1 }));
    expect(other.heard).toEqual([{ type: 'resume', offset: 0 }]);
  });

  it('lets a newer snapshot and a newer leader supersede what it has, and nothing older', async () => {
    const scene = new Scene();
    await scene.connect().say(offer(20), chunk(0, 400));
    const older = scene.connect();
    await older.say(offer(10, { crc: 1 }));
    expect(older.heard).toEqual([{ type: 'refused', reason: 'a newer snapshot is being received' }]);
    const newer = scene.connect();
    await newer.say(offer(30, { crc: 1 }));
    expect(newer.heard).toEqual([{ type: 'resume', offset: 0 }]);
    const successor = scene.connect();
    await successor.say(offer(25, { crc: 2, leaderTerm: term(4) }));
    expect(successor.heard).toEqual([{ type: 'resume', offset: 0 }]);
    const deposed = scene.connect();
    await deposed.say(offer(40, { crc: 3, leaderTerm: term(3) }));
    expect(deposed.heard).toMatchObject([{ type: 'refused' }]);
  });

  it('goes on with what arrives when another leader comes, whose log begins no later', async () => {
    const scene = new Scene();
    const deposed = scene.connect();
    await deposed.say(offer(20), chunk(0, 400));
    const successor = scene.connect(3);
    const newer = offer(25, { crc: 2, leaderTerm: term(4), logBase: logIndex(20) });
    await successor.say(newer);
    expect(successor.heard).toEqual([{ type: 'refused', reason: 'another one is being received' }]);
    await deposed.say(chunk(400, 1_000), { type: 'end' });
    expect(scene.received).toEqual([20]);
    // The log goes on from there.
    scene.committed = 20;
    const later = scene.connect(3);
    await later.say(newer);
    expect(later.heard).toEqual([{ type: 'installed', index: 20 }]);
  });

  it.each([
    ['the log of the new leader begins later', logIndex(21), (): void => {}],
    ['nothing came for a second', logIndex(20), (scene: Scene): void => void (scene.nowMs += 1_000)],
  ])('begins anew with that of a new leader when %s', async (_why, logBase, meanwhile) => {
    const scene = new Scene();
    await scene.connect().say(offer(20), chunk(0, 400));
    meanwhile(scene);
    const successor = scene.connect(3);
    await successor.say(offer(25, { crc: 2, leaderTerm: term(4), logBase }));
    expect(successor.heard).toEqual([{ type: 'resume', offset: 0 }]);
  });

  it('wants none that it needs no more, and none while it installs another', async () => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(5));
    expect(line.heard).toEqual([{ type: 'installed', index: 5 }]);
    scene.busy = true;
    const next = scene.connect();
    await next.say(offer(20));
    expect(next.heard).toEqual([{ type: 'refused', reason: 'another snapshot is being installed' }]);
    expect(scene.received).toEqual([]);
  });

  it('wants none whose last entry is of a later term than its sender', async () => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20, { term: term(4), leaderTerm: term(3) }));
    expect(line.heard).toEqual([{ type: 'refused', reason: "its last entry is of a term above the sender's" }]);
    expect(scene.received).toEqual([]);
  });

  it('keeps nothing of bytes that are not those of the offer', async () => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20, { crc: 1 }), chunk(0, 1_000), { type: 'end' });
    expect(line.heard.at(-1)).toEqual({ type: 'refused', reason: 'the bytes are not those that were offered' });
    expect(scene.store.snapshot).toBeUndefined();
    await line.say(offer(20));
    expect(line.heard.at(-1)).toEqual({ type: 'resume', offset: 0 });
  });

  it.each([
    ['a gap', [chunk(100, 200)]],
    ['bytes that it has', [chunk(0, 200), chunk(100, 300)]],
    ['more than was offered', [{ type: 'chunk', offset: 0, data: new Uint8Array(1_001) }]],
    ['what only a receiver says', [{ type: 'resume', offset: 0 }]],
  ] as const)('closes a connection that brings %s, and keeps what was right', async (_, messages) => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20), ...messages);
    expect(line.open).toBe(false);
    const again = scene.connect();
    await again.say(offer(20));
    expect(again.heard).toEqual([{ type: 'resume', offset: messages.length === 2 ? 200 : 0 }]);
    expect(scene.errors).toEqual([]);
  });

  it('closes a connection on which more comes than a sender has under way, and no other', async () => {
    const pieces = Array.from({ length: 10 }, (_, at) => chunk(100 * at, 100 * (at + 1)));
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20));
    await line.say(...pieces.slice(0, 7));
    expect(line.open).toBe(false);
    const within = scene.connect();
    await within.say(offer(20));
    const from = within.heard[0]?.type === 'resume' ? within.heard[0].offset / 100 : NaN;
    for (let at = from; at < pieces.length; at += 5) await within.say(...pieces.slice(at, at + 5));
    await within.say({ type: 'end' });
    expect(scene.received).toEqual([20]);
  });

  it('closes a connection that brings what is no message', () => {
    const scene = new Scene();
    const line = scene.connect();
    line.sayBytes(new Uint8Array([0xc1]));
    expect(line.open).toBe(false);
  });

  it('drops what nobody goes on with', async () => {
    const scene = new Scene();
    const line = scene.connect();
    await line.say(offer(20), chunk(0, 400));
    line.destroy();
    for (const timer of scene.timers) if (!timer.cancelled) timer.run();
    await settled();
    const again = scene.connect();
    await again.say(offer(20));
    expect(again.heard).toEqual([{ type: 'resume', offset: 0 }]);
  });

  it('gives a snapshot up for which the disk has no room, and the server goes on', async () => {
    const store = new FullStore();
    const scene = new Scene(store);
    const line = scene.connect();
    await line.say(offer(20), chunk(0, 400));
    expect(line.heard.at(-1)).toEqual({ type: 'refused', reason: 'the disk is full' });
    expect(store.aborted).toBe(1);
    expect(scene.errors).toEqual([]);
  });

  it('stops the server when a whole snapshot cannot be made durable', async () => {
    const failure = new DiskError('IO', 'file', 'the disk failed');
    const store = new MemoryLogStore();
    const createSnapshot = store.createSnapshot.bind(store);
    store.createSnapshot = async (meta) =>
      Object.assign(await createSnapshot(meta), { finish: () => Promise.reject(failure) });
    const scene = new Scene(store);
    await scene.bring(20);
    expect(scene.errors).toEqual([failure]);
    expect(scene.received).toEqual([]);
  });
});

describe('a snapshot that the machine refuses', () => {
  const refusing = (): Scene => {
    const scene = new Scene();
    scene.restore = () => Promise.reject(new Error('it has a record of an unknown type'));
    return scene;
  };

  it('is removed, named and counted, its sender is told why, and nobody else hears of it', async () => {
    const scene = refusing();
    const line = await scene.bring(20);
    expect(line.heard.at(-1)).toEqual({
      type: 'refused',
      reason: 'its state machine refuses it: it has a record of an unknown type',
    });
    expect(scene.store.snapshot).toBeUndefined();
    expect([scene.received, scene.errors, scene.refused]).toEqual([[], [], 1]);
    expect(scene.logged).toMatchObject([{ peer: 2, index: 20, bytes: 1_000 }]);
  });

  it('is not taken again from its sender at once, and ever later, but from another server', async () => {
    const scene = refusing();
    await scene.bring(20);
    const paused: number[] = [];
    for (let since = 0; paused.length < 6; scene.nowMs += 1_000) {
      const { refused } = scene;
      await scene.bring(20);
      if (scene.refused === refused) continue;
      paused.push(scene.nowMs - since);
      since = scene.nowMs;
    }
    expect(paused).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    scene.restore = async () => {};
    expect((await scene.bring(20)).heard).toMatchObject([{ type: 'refused' }]);
    expect((await scene.bring(20, 3)).heard.at(-1)).toEqual({ type: 'installed', index: 20 });
  });
});

describe('a snapshot that is being restored', () => {
  /** Held back until it is let go. */
  const slow = async (): Promise<{ scene: Scene; line: Line; letGo: () => Promise<void> }> => {
    const scene = new Scene();
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    scene.restore = () => held;
    const line = await scene.bring(20);
    return {
      scene,
      line,
      letGo: async () => {
        letGo();
        await settled();
      },
    };
  };

  it('is none of the store yet', async () => {
    const { scene, line, letGo } = await slow();
    expect(scene.store.snapshot).toBeUndefined();
    expect(line.heard.at(-1)).toEqual({ type: 'written', offset: 1_000 });
    await letGo();
    expect(scene.store.snapshot).toMatchObject({ index: 20 });
    expect(line.heard.at(-1)).toEqual({ type: 'installed', index: 20 });
  });

  it('makes its sender wait, who is told that it goes on, and may come back on another connection', async () => {
    const { scene, line, letGo } = await slow();
    const heard = line.heard.length;
    scene.timers.findLast(({ cancelled }) => !cancelled)?.run();
    expect(line.heard.slice(heard)).toEqual([{ type: 'written', offset: 1_000 }]);
    line.destroy();
    const again = scene.connect();
    await again.say(offer(20));
    const other = scene.connect(3);
    await other.say(offer(30));
    expect(other.heard).toEqual([{ type: 'refused', reason: 'another snapshot is being installed' }]);
    await letGo();
    expect(again.heard.at(-1)).toEqual({ type: 'installed', index: 20 });
    expect(scene.received).toEqual([20]);
    expect(scene.timers.filter(({ cancelled }) => !cancelled)).toHaveLength(1);
  });

  it('is dropped when the log has outgrown it meanwhile [superseded-snapshot-persist-ack]', async () => {
    const { scene, line, letGo } = await slow();
    scene.committed = 20;
    await letGo();
    expect(line.heard.at(-1)).toEqual({ type: 'installed', index: 20 });
    expect(scene.store.snapshot).toBeUndefined();
    expect(scene.received).toEqual([]);
  });

  it('is dropped with a server that stops', async () => {
    const { scene, letGo } = await slow();
    const stopped = scene.receiver.stop();
    await letGo();
    await stopped;
    expect([scene.received, scene.refused, scene.errors]).toEqual([[], 0, []]);
  });

  it('is not taken for one that the machine refuses when the server stops in the midst of it', async () => {
    const scene = new Scene();
    let fail = (_error: Error): void => {};
    scene.restore = () => new Promise((_resolve, reject) => (fail = reject));
    const line = await scene.bring(20);
    const stopped = scene.receiver.stop();
    fail(new Error('it is cut off'));
    await stopped;
    expect([scene.refused, scene.logged, scene.errors]).toEqual([0, [], []]);
    expect(line.heard).not.toContainEqual(expect.objectContaining({ reason: expect.stringContaining('cut off') }));
    expect(scene.store.snapshot).toBeUndefined();
  });
});
