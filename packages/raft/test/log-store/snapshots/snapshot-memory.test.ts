/** What a snapshot of any size takes of memory: a large one must not leave as much garbage as it has bytes. */

import type { Disk, DiskFile } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import { bytesOf } from '../../../src/log-store/contract/snapshot.ts';
import { entryRange, vote } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';
import { openLog } from '../support/wal-fixture.ts';

const CHUNK_BYTES = 1_000;
const CHUNKS = 40;
const META = { index: logIndex(1), term: term(1), configuration: new Uint8Array(0), origin: 'taken' } as const;

/** The memory that the disk was given for what belongs to snapshots, but for their heads and ends. */
interface Seen {
  readonly written: Set<ArrayBufferLike>;
  readonly rooms: Set<ArrayBufferLike | undefined>;
}

function watch(disk: Disk, seen: Seen): Disk {
  const watched = (file: DiskFile): DiskFile => ({
    path: file.path,
    append: (position, buffers) => file.append(position, buffers),
    write: (position, bytes) => {
      if (bytes.length > CHUNK_BYTES) seen.written.add(bytes.buffer);
      return file.write(position, bytes);
    },
    sync: () => file.sync(),
    read: async (position, length, room) => {
      if (length > CHUNK_BYTES) seen.rooms.add(room?.buffer);
      const bytes = await file.read(position, length);
      if (room === undefined) return bytes;
      // As the operating system's disk does.
      room.set(bytes);
      return room.subarray(0, bytes.length);
    },
    truncate: (length) => file.truncate(length),
    size: () => file.size(),
    close: () => file.close(),
  });
  return {
    makeDirectory: (path) => disk.makeDirectory(path),
    list: (path) => disk.list(path),
    readFile: (path) => disk.readFile(path),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    removeTree: (path) => disk.removeTree(path),
    syncDirectory: (path) => disk.syncDirectory(path),
    freeBytes: (path) => disk.freeBytes(path),
    restrictAccess: (path) => disk.restrictAccess(path),
    lockDirectory: (path) => disk.lockDirectory(path),
    open: async (path, mode) => {
      const file = await disk.open(path, mode);
      return path.includes('.snapshot') ? watched(file) : file;
    },
  };
}

describe('a snapshot', () => {
  it('is written from one room and read into two, whatever its size, and comes back as it was', () =>
    onMachine(async (machine) => {
      const seen: Seen = { written: new Set(), rooms: new Set() };
      const store = await openLog(machine, { snapshotChunkBytes: CHUNK_BYTES }, (disk) => watch(disk, seen));
      await store.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
      const state = Uint8Array.from({ length: CHUNKS * CHUNK_BYTES + 7 }, (_, at) => at % 251);
      const sink = await store.createSnapshot(META);
      const slice = new Uint8Array(777);
      for (let at = 0; at < state.length; at += slice.length) {
        const part = state.subarray(at, at + slice.length);
        slice.set(part);
        await sink.write(slice.subarray(0, part.length));
      }
      await sink.finish();
      expect(seen.written.size).toBe(1);

      const source = await store.openSnapshot();
      if (source === undefined) throw new Error('there is no snapshot');
      const parts: Uint8Array[] = [];
      for await (const part of bytesOf(source)) parts.push(Uint8Array.from(part));
      await source.close();
      expect(Buffer.concat(parts).equals(state)).toBe(true);
      expect(seen.rooms.size).toBe(2);
      expect(seen.rooms).not.toContain(undefined);
      await store.close();
    }));
});
