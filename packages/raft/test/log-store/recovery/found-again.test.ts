/** What a start has found and acts upon must be on disk, however the process before it ended. */

import { describe, expect, it } from 'vitest';
import { openDataDirectory } from '../../../src/log-store/index.ts';
import { serverId } from '../../../src/core/index.ts';
import { silentLogger } from '@holdfast/runtime';
import { entryRange, modelOf, vote } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, segmentPaths } from '../support/wal-fixture.ts';

const BEFORE = entryRange(1, 3, 1);
const LAST = entryRange(4, 5, 1);

describe('a log that a start has found', () => {
  it('is kept over a power failure when the last write of the process before had failed', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: BEFORE });
      machine.failNext('append', 'IO');
      await expect(store.write({ entries: LAST })).rejects.toThrow(/IO/);
      machine.kill();
      const found = await modelOf(await openLog(machine));
      // The kernel keeps what it could not write in its cache, and takes it for clean.
      expect(found.entries).toEqual([...BEFORE, ...LAST]);
      machine.crash();
      expect(await modelOf(await openLog(machine))).toEqual(found);
    }));

  it('is whole over a power failure when a segment had been prepared that was not on disk', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      machine.failNext('sync', 'IO');
      // The next segment is prepared when half of this one is used; its sync fails, and the log goes on.
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      await machine.quiesce();
      expect(machine.files()).toContain(`${LOG_OPTIONS.directory}/next.prepared`);
      machine.kill();
      const next = await openLog(machine);
      await next.write({ entries: entryRange(4, 6, 1, 1_000) });
      machine.crash();
      const written = { hardState: vote(1), entries: entryRange(1, 6, 1, 1_000) };
      expect(await modelOf(await openLog(machine))).toEqual(written);
    }));

  it('is whole over a power failure when the process before had ended before the name of a segment was on disk', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      machine.failNext('syncDirectory', 'IO');
      await expect(store.write({ entries: entryRange(4, 6, 1, 1_000) })).rejects.toThrow(/IO/);
      machine.kill();
      expect(await segmentPaths(machine)).toHaveLength(2);
      const next = await openLog(machine);
      await next.write({ entries: entryRange(4, 6, 1, 1_000) });
      machine.crash();
      const written = { hardState: vote(1), entries: entryRange(1, 6, 1, 1_000) };
      expect(await modelOf(await openLog(machine))).toEqual(written);
    }));
});

describe('a data directory that a start has found', () => {
  it('is kept over a power failure, whenever the process that made it was killed', () =>
    onMachine(async (machine) => {
      const options = {
        path: '/data',
        clusterId: 'c',
        serverId: serverId(1),
        members: [{ id: serverId(1), peerAddress: 'a:1' }],
        segmentBytes: 4096,
      };
      const open = () =>
        openDataDirectory(options, { disk: machine.disk, random: machine.random, logger: silentLogger });
      const made = new Set<string>();
      for (let afterMs = 0; afterMs < 60; afterMs += 0.25) {
        await machine.disk.removeTree('/data');
        void open();
        await machine.killAfter(afterMs);
        const { incarnation } = await open();
        made.add(incarnation);
        machine.crash();
        expect((await open()).incarnation).toBe(incarnation);
        machine.kill();
      }
      // It was killed before its identity was there, and after.
      expect(made.size).toBeGreaterThan(1);
    }));
});
