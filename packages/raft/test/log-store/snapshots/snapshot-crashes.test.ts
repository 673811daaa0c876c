import { describe, expect, it } from 'vitest';
import type { Disk, DiskFile } from '@holdfast/runtime';
import { logIndex, term } from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { DamagedSnapshotError } from '../../../src/log-store/errors/damaged-snapshot-error.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { bytesOf, type SnapshotOrigin } from '../../../src/log-store/contract/snapshot.ts';
import { contentOf, entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from '../support/wal-fixture.ts';

const SMALL = { snapshotChunkBytes: 300 };
const STATE = Uint8Array.from({ length: 2_000 }, (_, at) => at % 251);

async function write(store: LogStore, index: number, inTerm: number, origin: SnapshotOrigin = 'taken'): Promise<void> {
  const meta = { index: logIndex(index), term: term(inTerm), configuration: new Uint8Array(0), origin };
  const sink = await store.createSnapshot(meta);
  for (let at = 0; at < STATE.length; at += 450) await sink.write(STATE.subarray(at, at + 450));
  // The machine looks at it first.
  if (origin === 'received') await (await sink.seal()).close();
  await sink.finish();
}

async function stateOf(store: LogStore): Promise<Uint8Array> {
  const source = await store.openSnapshot();
  if (source === undefined) throw new Error('there is no snapshot');
  const parts: Uint8Array[] = [];
  for await (const part of bytesOf(source)) parts.push(Uint8Array.from(part));
  await source.close();
  return Uint8Array.from(Buffer.concat(parts));
}

/** A log of 60 entries over several segments, in term 1. */
async function fill(store: LogStore): Promise<void> {
  await store.write({ hardState: vote(1), entries: [] });
  for (let first = 1; first <= 56; first += 5) await store.write({ entries: entryRange(first, first + 4, 1, 700) });
}

const snapshotPath = (machine: Machine, index: number): string => {
  const name = machine
    .files()
    .find((path) => path.endsWith('.snapshot') && path.includes(`/${String(index).padStart(16, '0')}-`));
  if (name === undefined) throw new Error(`no snapshot of ${index}`);
  return name;
};

/** Lets the power fail, or the process die, after so many of the disk's operations. */
function stopAfter(disk: Disk, machine: Machine, operations: number, end: 'crash' | 'kill'): Disk {
  let left = operations;
  const counted = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => {
    return (...args: A): Promise<R> => {
      left -= 1;
      if (left < 0) return new Promise(() => {});
      if (left > 0) return run(...args);
      const last = run(...args);
      return last.then(() => {
        if (end === 'crash') machine.crash('random');
        else machine.kill();
        return new Promise<R>(() => {});
      });
    };
  };
  return {
    makeDirectory: (path) => disk.makeDirectory(path),
    list: (path) => disk.list(path),
    readFile: (path) => disk.readFile(path),
    rename: counted((from: string, to: string) => disk.rename(from, to)),
    remove: counted((path: string) => disk.remove(path)),
    removeTree: (path) => disk.removeTree(path),
    freeBytes: (path) => disk.freeBytes(path),
    restrictAccess: (path) => disk.restrictAccess(path),
    lockDirectory: (path) => disk.lockDirectory(path),
    syncDirectory: counted((path: string) => disk.syncDirectory(path)),
    open: async (path, mode) => {
      const file = await disk.open(path, mode);
      return {
        path: file.path,
        append: counted((position: number, buffers: readonly Uint8Array[]) => file.append(position, buffers)),
        write: counted((position: number, bytes: Uint8Array) => file.write(position, bytes)),
        sync: counted(() => file.sync()),
        read: (position, length) => file.read(position, length),
        truncate: (length) => file.truncate(length),
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  };
}

/** Counts the bytes that are asked for of one file. */
function countReads(disk: Disk, path: string, read: { bytes: number }): Disk {
  const counted = (file: DiskFile): DiskFile => {
    return new Proxy(file, {
      get: (target, key) =>
        key === 'read'
          ? (position: number, length: number) => {
              read.bytes += length;
              return target.read(position, length);
            }
          : bound(target, key),
    });
  };
  return new Proxy(disk, {
    get: (target, key) =>
      key === 'open'
        ? async (name: string, mode: 'existing' | 'create') => {
            const file = await target.open(name, mode);
            return name === path ? counted(file) : file;
          }
        : bound(target, key),
  });
}

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target);
  return typeof value === 'function' ? value.bind(target) : value;
}

describe('a crash at every operation of the disk', () => {
  it.each(['crash', 'kill'] as const)(
    'of a snapshot and the compaction behind it loses nothing (%s) [snapshot-crash-gap-in-wal]',
    async (end) => {
      let whole = 0;
      for (let operations = 1; operations < 60; operations += 1) {
        await onMachine(async (machine) => {
          const store = await openLog(machine, SMALL);
          await fill(store);
          await write(store, 20, 1);
          await store.compact(logIndex(10));
          await store.close();
          const work = async (): Promise<'over'> => {
            const struck = await openLog(machine, SMALL, (disk) => stopAfter(disk, machine, operations, end));
            await write(struck, 50, 1);
            await struck.compact(logIndex(45));
            return 'over';
          };
          await Promise.race([work(), machine.quiesce()]);
          machine.kill();
          const found = await openLog(machine, SMALL);
          const { snapshot, base, lastIndex } = found.durable;
          expect(lastIndex).toBe(60);
          expect([20, 50]).toContain(snapshot?.index);
          expect(base.index).toBeLessThanOrEqual(snapshot?.index ?? 0);
          expect(await stateOf(found)).toEqual(STATE);
          expect(await contentOf(found)).toEqual(entryRange(found.firstIndex, 60, 1, 700));
          expect(machine.files().filter((name) => name.endsWith('.tmp'))).toEqual([]);
          if (snapshot?.index === 50) whole += 1;
          await found.close();
        }, operations);
      }
      expect(whole).toBeGreaterThan(5);
    },
  );

  it.each(['crash', 'kill'] as const)(
    'of an installation leaves the old log or the new one (%s) [crash-between-install-and-truncate]',
    async (end) => {
      const found = { old: 0, fresh: 0 };
      for (let operations = 1; operations < 60; operations += 1) {
        await onMachine(async (machine) => {
          const store = await openLog(machine, SMALL);
          await fill(store);
          // A tail that differs from the leader's, cut below the beginning of a later segment.
          await store.write({ truncateFrom: logIndex(44), entries: entryRange(44, 50, 1, 700) });
          await store.close();
          const position = { index: logIndex(100), term: term(3) };
          const work = async (): Promise<void> => {
            const struck = await openLog(machine, SMALL, (disk) => stopAfter(disk, machine, operations, end));
            await write(struck, 100, 3, 'received');
            await struck.write({ hardState: vote(4), snapshot: position, entries: entryRange(101, 102, 4) });
          };
          await Promise.race([work(), machine.quiesce()]);
          machine.kill();
          const again = await openLog(machine, SMALL);
          if (again.durable.snapshot === undefined) {
            expect(again.durable.lastIndex).toBe(50);
            found.old += 1;
          } else {
            expect(again.durable).toMatchObject({ base: position, snapshot: position });
            expect(again.durable.hardState.term).toBeGreaterThanOrEqual(3);
            expect(await stateOf(again)).toEqual(STATE);
            expect(await contentOf(again)).toEqual(entryRange(101, again.durable.lastIndex, 4));
            found.fresh += 1;
          }
          // And it goes on from there, and is found again.
          const next = again.durable.lastIndex + 1;
          await again.write({ hardState: vote(5), entries: entryRange(next, next + 3, 5) });
          const entries = await contentOf(again, logIndex(next + 3));
          await again.close();
          const last = await openLog(machine, SMALL);
          expect(await contentOf(last)).toEqual(entries);
          await last.close();
        }, operations);
      }
      expect(found.old).toBeGreaterThan(3);
      expect(found.fresh).toBeGreaterThan(3);
    },
  );
});

describe('a power failure while one installation follows another', () => {
  it('leaves no gap between segments, whenever it strikes and strikes the start behind it', async () => {
    const found = new Set<number>();
    for (let operations = 1; operations < 100; operations += 1) {
      await onMachine(async (machine) => {
        const store = await openLog(machine, SMALL);
        await fill(store);
        await store.close();
        const install = async (): Promise<void> => {
          const struck = await openLog(machine, SMALL, (disk) => stopAfter(disk, machine, operations, 'crash'));
          await write(struck, 100, 3, 'received');
          const position = { index: logIndex(100), term: term(3) };
          const first = struck.write({ hardState: vote(3), snapshot: position, entries: [] });
          // The next one has its name while the segments before the first are still being removed.
          await write(struck, 200, 3, 'received');
          await first;
          await struck.write({ snapshot: { index: logIndex(200), term: term(3) }, entries: [] });
        };
        await Promise.race([install(), machine.quiesce()]);
        machine.kill();
        const start = openLog(machine, SMALL, (disk) => stopAfter(disk, machine, 1 + (operations % 13), 'crash'));
        await Promise.race([start, machine.quiesce()]);
        machine.kill();
        const again = await openLog(machine, SMALL);
        const { base, lastIndex } = again.durable;
        expect([0, 100, 200]).toContain(base.index);
        expect(lastIndex).toBe(base.index === 0 ? 60 : base.index);
        found.add(base.index);
        await again.close();
      }, operations);
    }
    expect([...found].toSorted((a, b) => a - b)).toEqual([0, 100, 200]);
  });
});

describe('a damaged snapshot', () => {
  it('is passed over, and removed, while the log reaches back behind an older one', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 30, 1);
      await write(store, 50, 1);
      await store.compact(logIndex(20));
      await store.close();
      machine.flipBit(snapshotPath(machine, 50), 1_000);
      const found = await openLog(machine, SMALL);
      expect(found.durable.snapshot?.index).toBe(30);
      expect(await stateOf(found)).toEqual(STATE);
      expect(machine.files().filter((name) => name.endsWith('.snapshot'))).toHaveLength(1);
      await found.close();
    }));

  it('is passed over while the log is whole', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 50, 1);
      await store.close();
      machine.flipBit(snapshotPath(machine, 50), 70);
      const found = await openLog(machine, SMALL);
      expect(found.durable).toMatchObject({ snapshot: undefined, base: { index: 0 }, lastIndex: 60 });
      await found.close();
    }));

  it('is refused, with its name, when nothing else holds the state, at whatever place the damage is', async () => {
    for (let share = 0; share < 1; share += 0.05) {
      await onMachine(async (machine) => {
        const store = await openLog(machine, SMALL);
        await fill(store);
        await write(store, 50, 1);
        await store.compact(logIndex(45));
        await store.close();
        const path = snapshotPath(machine, 50);
        machine.flipBit(path, Math.floor(share * machine.bytes(path).length));
        // A version of another program is told apart; everything else is damage.
        await expect(openLog(machine, SMALL)).rejects.toThrow(/is damaged at byte|is unknown to this program/);
        const summary = inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
        const told = await summary.then(
          ({ damage }) => damage?.file,
          (error: Error) => error.message,
        );
        expect(told).toContain(path);
      });
    }
  });

  it('is refused when it is cut, or longer than it was', async () => {
    for (const change of [-1, -500, 1]) {
      await onMachine(async (machine) => {
        const store = await openLog(machine, SMALL);
        await fill(store);
        await write(store, 50, 1);
        await store.compact(logIndex(45));
        await store.close();
        const path = snapshotPath(machine, 50);
        const bytes = machine.bytes(path);
        await machine.disk.remove(path);
        await machine.createFile(path, change < 0 ? bytes.slice(0, change) : Uint8Array.from([...bytes, 0]));
        await expect(openLog(machine, SMALL)).rejects.toThrow(DamagedLogError);
      });
    }
  });
});

describe('a log that is opened by the ends of its newest snapshot', () => {
  const BY_ENDS = { ...SMALL, snapshotCheck: 'ends' } as const;
  const HEADER_BYTES = 100;

  it('reads no more of it than those', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 50, 1);
      await store.close();
      const path = snapshotPath(machine, 50);
      const read = { bytes: 0 };
      const found = await openLog(machine, BY_ENDS, (disk) => countReads(disk, path, read));
      expect(found.durable.snapshot?.index).toBe(50);
      expect(read.bytes).toBeGreaterThan(0);
      expect(read.bytes).toBeLessThan(STATE.length / 4);
      expect(await stateOf(found)).toEqual(STATE);
      await found.close();
    }));

  it('tells whoever reads the state of any damage, with no byte that was not written, and keeps what may be needed then', async () => {
    let noticed = 0;
    for (let share = 0; share < 1; share += 0.05) {
      await onMachine(async (machine) => {
        const store = await openLog(machine, SMALL);
        await fill(store);
        await write(store, 20, 1);
        await write(store, 30, 1);
        await write(store, 50, 1);
        await store.compact(logIndex(20));
        await store.close();
        const before = machine.files();
        const path = snapshotPath(machine, 50);
        const { length } = machine.bytes(path);
        machine.flipBit(path, HEADER_BYTES + Math.floor(share * (length - HEADER_BYTES)));
        const found = await openLog(machine, BY_ENDS);
        const source = await found.openSnapshot();
        if (source?.info.index === 50) {
          const pieces: Uint8Array[] = [];
          const reading = async (): Promise<void> => {
            for await (const piece of bytesOf(source)) pieces.push(Uint8Array.from(piece));
          };
          await expect(reading()).rejects.toThrow(DamagedSnapshotError);
          const bytes = Buffer.concat(pieces);
          expect(bytes).toEqual(Buffer.from(STATE.subarray(0, bytes.length)));
          expect(machine.files().filter((name) => name.endsWith('.snapshot'))).toEqual(
            before.filter((name) => name.endsWith('.snapshot')),
          );
          noticed += 1;
        }
        await source?.close();
        await found.close();
        // The thorough look then finds the older one.
        const again = await openLog(machine, SMALL);
        expect(again.durable.snapshot?.index).toBe(30);
        expect(await stateOf(again)).toEqual(STATE);
        await again.close();
      });
    }
    expect(noticed).toBeGreaterThan(10);
  });

  it('reads all of it where it would replace the log', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 100, 3, 'received');
      await store.close();
      machine.flipBit(snapshotPath(machine, 100), 1_000);
      const found = await openLog(machine, BY_ENDS);
      expect(found.durable).toMatchObject({ snapshot: undefined, lastIndex: 60 });
      await found.close();
    }));
});

describe('a log behind a snapshot', () => {
  it('is refused when the snapshot is missing', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 50, 1);
      await store.compact(logIndex(45));
      await store.close();
      await machine.disk.remove(snapshotPath(machine, 50));
      await expect(openLog(machine, SMALL)).rejects.toThrow(/no snapshot holds the state up to index/);
    }));

  it('is refused when it ends before the state that this server made of it', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      // As if the segments behind it, and their mark, were gone.
      await write(store, 70, 1);
      await store.close();
      await expect(openLog(machine, SMALL)).rejects.toThrow(
        /the log ends at index 60 of term 1, and once held entry 70/,
      );
    }));

  it('removes segments one by one, the oldest first', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      const before = await segmentPaths(machine);
      await write(store, 50, 1);
      await store.compact(logIndex(45));
      const after = await segmentPaths(machine);
      expect(before.length - after.length).toBeGreaterThan(3);
      expect(before.slice(-after.length)).toEqual(after);
      await store.close();
    }));

  it('removes older snapshots but one that it could go on from, were the newest lost', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      for (const index of [10, 30, 50]) await write(store, index, 1);
      const indexes = (): number[] =>
        machine
          .files()
          .filter((path) => path.endsWith('.snapshot'))
          .map((path) => Number(path.split('/').at(-1)?.split('-')[0]));
      expect(indexes()).toEqual([10, 30, 50]);
      await store.compact(logIndex(20));
      expect(indexes()).toEqual([30, 50]);
      await store.compact(logIndex(45));
      expect(indexes()).toEqual([50]);
      await store.close();
    }));

  it('tells its snapshot and its base to whoever inspects it', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      await write(store, 50, 1);
      await store.compact(logIndex(45));
      const { firstIndex } = store;
      await store.close();
      const summary = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
      expect(summary).toMatchObject({ damage: undefined, baseIndex: firstIndex - 1, lastIndex: 60 });
      expect(summary.snapshot).toMatchObject({ index: 50, term: 1, bytes: STATE.length });
    }));
});

describe('a full disk', () => {
  it('takes a snapshot only while it leaves room for the next segment', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      const meta = { index: logIndex(50), term: term(1), configuration: new Uint8Array(0), origin: 'taken' } as const;
      // The room of a segment, and what is written at once.
      const neededBytes = SEGMENT_BYTES + 2 * 1024 * 1024;
      machine.setFreeBytes(neededBytes - 1);
      await expect(store.createSnapshot(meta)).rejects.toMatchObject({ code: 'NO_SPACE' });
      machine.setFreeBytes(neededBytes);
      await (await store.createSnapshot(meta)).abort();
    }));

  it('leaves nothing of a snapshot that found no room, and the log goes on', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, SMALL);
      await fill(store);
      const sink = await store.createSnapshot({
        index: logIndex(50),
        term: term(1),
        configuration: new Uint8Array(0),
        origin: 'taken',
      });
      machine.failNext('write', 'NO_SPACE');
      await expect(sink.write(STATE)).rejects.toMatchObject({ code: 'NO_SPACE' });
      await sink.abort();
      expect(machine.files().filter((name) => name.includes('snapshot'))).toEqual([]);
      await store.write({ entries: entryRange(61, 61, 1) });
      await store.close();
    }));
});
