import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DiskFile } from '../../src/index.ts';
import { SECTOR_BYTES, SimWorld } from '../../src/sim/index.ts';
import type { SimHost, Tear } from '../../src/sim/index.ts';

/** A host with an open file whose name is durable. */
async function openFile(seed: number | string = 1): Promise<{ world: SimWorld; host: SimHost; file: DiskFile }> {
  const world = new SimWorld({ seed });
  const host = world.host('a');
  const { disk } = host.runtime;
  await world.complete(disk.makeDirectory('/data'));
  const file = await world.complete(disk.open('/data/file', 'create'));
  await world.complete(disk.syncDirectory('/data'));
  return { world, host, file };
}

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value);

async function contentAfterRestart(world: SimWorld, host: SimHost, path = '/data/file'): Promise<number[]> {
  host.restart();
  return [...(await world.complete(host.runtime.disk.readFile(path)))];
}

describe('a disk that is replaced', () => {
  it('leaves nothing behind, and takes what is written to it', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [Uint8Array.of(1, 2)]));
    host.crash();
    host.disk.replace();
    expect(host.disk.files()).toEqual([]);
    expect(host.disk.durableFiles()).toEqual([]);
    host.crash({ tear: 'all' });
    host.restart();
    const { disk } = host.runtime;
    await world.complete(disk.makeDirectory('/data'));
    const next = await world.complete(disk.open('/data/file', 'create'));
    await world.complete(disk.syncDirectory('/data'));
    await world.complete(next.append(0, [Uint8Array.of(3)]));
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([3]);
  });
});

describe('a power failure', () => {
  it('keeps what was appended and what was synced', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [Uint8Array.of(1, 2)]));
    await world.complete(file.write(2, Uint8Array.of(3)));
    await world.complete(file.sync());
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([1, 2, 3]);
  });

  it('drops writes and truncations that were not synced', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [Uint8Array.of(1, 2)]));
    await world.complete(file.write(0, Uint8Array.of(9)));
    await world.complete(file.truncate(1));
    expect([...host.disk.bytes('/data/file')]).toEqual([9]);
    expect([...(host.disk.durableBytes('/data/file') ?? [])]).toEqual([1, 2]);
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([1, 2]);
  });

  it('drops an append that is still under way, or keeps it, but never reports it', async () => {
    for (const [tear, left] of [
      ['none', []],
      ['all', [7]],
    ] as const) {
      const { world, host, file } = await openFile();
      let reported = false;
      void file.append(0, [Uint8Array.of(7)]).finally(() => (reported = true));
      host.crash({ tear });
      await world.run({ forMs: 1_000 });
      expect(reported).toBe(false);
      expect(await contentAfterRestart(world, host)).toEqual(left);
    }
  });

  it('tears writes at sectors: each is written whole or not at all', async () => {
    const kept = new Set<string>();
    for (let seed = 0; seed < 40; seed += 1) {
      const { world, host, file } = await openFile(seed);
      await world.complete(file.append(0, [filled(SECTOR_BYTES * 4, 1)]));
      void file.append(0, [filled(SECTOR_BYTES * 4, 2)]);
      host.crash({ tear: 'random' });
      const content = await contentAfterRestart(world, host);
      const sectors = [0, 1, 2, 3].map((n) => new Set(content.slice(n * SECTOR_BYTES, (n + 1) * SECTOR_BYTES)));
      expect(sectors.every((sector) => sector.size === 1)).toBe(true);
      kept.add(sectors.map((sector) => [...sector].join()).join(''));
    }
    expect(kept.size).toBeGreaterThan(8);
  });

  it('may leave a file longer than its content was written, with zeros', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed += 1) {
      const { world, host, file } = await openFile(seed);
      void file.write(0, filled(100, 5));
      host.crash({ tear: 'random' });
      const content = await contentAfterRestart(world, host);
      seen.add(content.length === 0 ? 'nothing' : content[0] === 0 ? 'zeros' : 'written');
    }
    expect(seen).toEqual(new Set(['nothing', 'zeros', 'written']));
  });

  it('takes a file whose name was never made durable, even with synced content', async () => {
    const { world, host } = await openFile();
    const { disk } = host.runtime;
    const file = await world.complete(disk.open('/data/new', 'create'));
    await world.complete(file.append(0, [Uint8Array.of(1)]));
    expect(host.disk.durableFiles()).toEqual(['/data/file']);
    host.crash();
    host.restart();
    expect(await world.complete(host.runtime.disk.list('/data'))).toEqual(['file']);
  });

  it('undoes renames and removals that were not synced, and keeps those that were', async () => {
    const { world, host, file } = await openFile();
    const { disk } = host.runtime;
    await world.complete(file.append(0, [Uint8Array.of(1)]));
    await world.complete(disk.rename('/data/file', '/data/renamed'));
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([1]);
    await world.complete(host.runtime.disk.rename('/data/file', '/data/renamed'));
    await world.complete(host.runtime.disk.syncDirectory('/data'));
    await world.complete(host.runtime.disk.remove('/data/renamed'));
    host.crash();
    expect(await contentAfterRestart(world, host, '/data/renamed')).toEqual([1]);
    await world.complete(host.runtime.disk.remove('/data/renamed'));
    await world.complete(host.runtime.disk.syncDirectory('/data'));
    host.crash();
    host.restart();
    expect(await world.complete(host.runtime.disk.list('/data'))).toEqual([]);
  });

  it('never leaves a rename within a directory half done', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const { world, host } = await openFile(seed);
      await world.complete(host.runtime.disk.rename('/data/file', '/data/renamed'));
      host.crash({ tear: 'random' });
      host.restart();
      expect(await world.complete(host.runtime.disk.list('/data'))).toHaveLength(1);
    }
  });

  it('frees the directory that the dead process held', async () => {
    const { world, host } = await openFile();
    await world.complete(host.runtime.disk.lockDirectory('/data'));
    host.crash();
    host.restart();
    await world.complete(host.runtime.disk.lockDirectory('/data'));
    await expect(world.complete(host.runtime.disk.lockDirectory('/data'))).rejects.toMatchObject({ code: 'LOCKED' });
  });

  it('never takes an acknowledged append and never invents bytes, whatever it tears', async () => {
    const write = fc.record({
      durable: fc.boolean(),
      position: fc.integer({ min: 0, max: 2_000 }),
      length: fc.integer({ min: 1, max: 1_500 }),
      zeros: fc.boolean(),
    });
    const tears = fc.constantFrom<Tear>('none', 'all', 'random');
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 12 }), tears, fc.integer(), async (writes, tear, seed) => {
        const { world, host, file } = await openFile(seed);
        // For every byte the values that it may have: the last durable one and all that came after it.
        const allowed = Array.from({ length: 3_600 }, () => new Set([0]));
        let durableLength = 0;
        for (const [n, { durable, position, length, zeros }] of writes.entries()) {
          const value = zeros ? 0 : n + 1;
          const bytes = filled(length, value);
          await world.complete(durable ? file.append(position, [bytes]) : file.write(position, bytes));
          for (let at = position; at < position + length; at += 1) {
            if (durable) allowed[at] = new Set([value]);
            else allowed[at]?.add(value);
          }
          if (durable) durableLength = Math.max(durableLength, position + length);
        }
        host.crash({ tear });
        const content = await contentAfterRestart(world, host);
        expect(content.length).toBeGreaterThanOrEqual(durableLength);
        expect(content.every((value, at) => allowed[at]?.has(value))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a process that is killed', () => {
  it('loses nothing of what it wrote: the machine still has it', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.write(0, Uint8Array.of(1)));
    void file.append(1, [Uint8Array.of(2)]);
    host.kill();
    expect(await contentAfterRestart(world, host)).toEqual([1, 2]);
    await world.run({ forMs: 100 });
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([0, 2]);
  });
});

describe('a file of zeros', () => {
  const length = 10_000;

  it('is as long as it was written, and takes bytes anywhere', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [new Uint8Array(length)]));
    expect(await world.complete(file.size())).toBe(length);
    expect(await world.complete(file.read(0, 2 * length))).toEqual(new Uint8Array(length));
    await world.complete(file.append(5_000, [Uint8Array.of(7)]));
    await world.complete(file.append(100, [new Uint8Array(200)]));
    host.crash();
    const expected = new Uint8Array(length);
    expected[5_000] = 7;
    expect(await contentAfterRestart(world, host)).toEqual([...expected]);
  });

  it('can have a bit flipped, before its last byte that is not zero and behind it', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [new Uint8Array(length)]));
    await world.complete(file.append(0, [Uint8Array.of(1, 2)]));
    host.disk.flipBit('/data/file', 0, 1);
    host.disk.flipBit('/data/file', length - 1, 3);
    const expected = new Uint8Array(length);
    expected.set([3, 2]);
    expected[length - 1] = 8;
    expect(await world.complete(file.read(0, length))).toEqual(expected);
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([...expected]);
  });

  it('has zeros again where it was cut and made longer', async () => {
    const { world, file } = await openFile();
    await world.complete(file.append(0, [filled(100, 5), new Uint8Array(length)]));
    await world.complete(file.truncate(50));
    await world.complete(file.truncate(200));
    expect(await world.complete(file.read(0, 200))).toEqual(Uint8Array.of(...filled(50, 5), ...filled(150, 0)));
  });
});

describe('a faulty disk', () => {
  it('fails the next operation of a kind, once, with the code, on the path', async () => {
    const { world, host, file } = await openFile();
    host.disk.failNext('append', 'IO', { pathIncludes: 'elsewhere' });
    host.disk.failNext('append', 'READ_ONLY', { pathIncludes: 'file' });
    await world.complete(file.sync());
    await expect(world.complete(file.append(0, [Uint8Array.of(1)]))).rejects.toMatchObject({
      name: 'DiskError',
      code: 'READ_ONLY',
      path: '/data/file',
    });
    await world.complete(file.append(0, [Uint8Array.of(2)]));
    expect([...host.disk.bytes('/data/file')]).toEqual([2]);
  });

  it('does not make durable at the next sync what a failed one covered', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.write(0, Uint8Array.of(1)));
    host.disk.failNext('sync', 'IO');
    await expect(world.complete(file.sync())).rejects.toMatchObject({ code: 'IO' });
    await world.complete(file.sync());
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([]);
  });

  it('runs full in the middle of a write, and has room again when a file goes', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [filled(100, 1)]));
    host.disk.setFreeBytes(10);
    await world.complete(file.append(50, [filled(50, 2)]));
    await expect(world.complete(file.append(100, [filled(11, 3)]))).rejects.toMatchObject({ code: 'NO_SPACE' });
    expect(host.disk.bytes('/data/file')).toHaveLength(110);
    expect(await world.complete(host.runtime.disk.freeBytes('/data'))).toBe(0);
    await world.complete(host.runtime.disk.remove('/data/file'));
    expect(await world.complete(host.runtime.disk.freeBytes('/data'))).toBe(110);
  });

  it('flips a bit silently, for good', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [Uint8Array.of(0, 0)]));
    host.disk.flipBit('/data/file', 1, 3);
    expect([...(await world.complete(file.read(0, 2)))]).toEqual([0, 8]);
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([0, 8]);
    expect(() => host.disk.flipBit('/data/file', 2)).toThrow('beyond the end');
  });

  it('takes as long as it is told to', async () => {
    const { world, host, file } = await openFile();
    host.disk.setLatency({ durable: { minMs: 500, maxMs: 500 } });
    const startMs = world.nowMs;
    await world.complete(file.append(0, [Uint8Array.of(1)]));
    expect(world.nowMs - startMs).toBe(500);
    await world.complete(file.write(0, Uint8Array.of(1)));
    expect(world.nowMs - startMs).toBeLessThan(501);
  });

  it('works on for a paused process, which hears of it later', async () => {
    const { world, host, file } = await openFile();
    let heard = false;
    void file.append(0, [Uint8Array.of(1)]).then(() => (heard = true));
    host.pause();
    await world.run({ forMs: 100 });
    expect(heard).toBe(false);
    expect([...(host.disk.durableBytes('/data/file') ?? [])]).toEqual([1]);
    host.resume();
    await world.run({ until: () => heard });
  });

  it('may have written a part of what fails, and no later sync makes that durable', async () => {
    const { world, host, file } = await openFile();
    for (const [operation, action] of [
      ['append', () => file.append(0, [Uint8Array.of(1, 2), Uint8Array.of(3, 4, 5)])],
      ['write', () => file.write(0, Uint8Array.of(6, 7, 8, 9))],
    ] as const) {
      host.disk.failNext(operation, 'IO', { writtenShare: 0.5 });
      await expect(world.complete(action())).rejects.toMatchObject({ code: 'IO' });
    }
    expect([...host.disk.bytes('/data/file')]).toEqual([6, 7]);
    host.disk.failNext('write', 'IO', { writtenShare: 0 });
    await expect(world.complete(file.write(0, Uint8Array.of(9, 9, 9)))).rejects.toMatchObject({ code: 'IO' });
    expect([...host.disk.bytes('/data/file')]).toEqual([6, 7]);
    await world.complete(file.sync());
    expect(host.disk.durableBytes('/data/file')).toHaveLength(0);
    expect(() => host.disk.failNext('write', 'IO', { writtenShare: 2 })).toThrow('from 0 to 1');
  });

  it('fails reads, of files and of their lengths', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.append(0, [Uint8Array.of(1)]));
    for (const read of [() => file.read(0, 1), () => host.runtime.disk.readFile('/data/file'), () => file.size()]) {
      host.disk.failNext('read', 'IO');
      await expect(world.complete<unknown>(read())).rejects.toMatchObject({ code: 'IO' });
      await world.complete<unknown>(read());
    }
  });

  it('hangs as long as it is told to, operations under way included, and then works on in order', async () => {
    const { world, host, file } = await openFile();
    const done: string[] = [];
    void file.append(0, [Uint8Array.of(1)]).then(() => done.push('append'));
    host.disk.stall(5_000);
    void file.sync().then(() => done.push('sync'));
    world.after(3_000, () => host.disk.stall(1_000));
    await world.run({ forMs: 4_999 });
    expect(done).toEqual([]);
    expect(host.disk.durableBytes('/data/file')).toHaveLength(0);
    await world.run({ forMs: 1 });
    expect(done.toSorted()).toEqual(['append', 'sync']);
    await world.complete(file.append(0, [Uint8Array.of(2)]));
    expect(() => host.disk.stall(Infinity)).toThrow('Infinity');
  });

  it('is as before after a heal', async () => {
    const { world, host, file } = await openFile();
    host.disk.setFreeBytes(0);
    host.disk.failNext('append', 'IO');
    host.disk.stall(10_000);
    const hung = file.sync();
    await world.run({ forMs: 100 });
    host.disk.heal();
    const startMs = world.nowMs;
    await world.complete(hung);
    await world.complete(file.append(0, [filled(100, 1)]));
    expect(world.nowMs - startMs).toBeLessThan(10);
  });

  it('may lose power while it hangs', async () => {
    const { world, host, file } = await openFile();
    host.disk.stall(1_000);
    let answered = false;
    void file.append(0, [Uint8Array.of(1)]).finally(() => (answered = true));
    await world.run({ forMs: 500 });
    host.crash();
    await world.run({ forMs: 1_000 });
    expect(answered).toBe(false);
    expect(await contentAfterRestart(world, host)).toEqual([]);
  });

  it('takes times from a distribution with a mean', async () => {
    const { world, host, file } = await openFile();
    host.disk.setLatency({ durable: { minMs: 2, meanMs: 10, maxMs: 500 } });
    const startMs = world.nowMs;
    for (let n = 0; n < 1_000; n += 1) await world.complete(file.sync());
    expect((world.nowMs - startMs) / 1_000).toBeGreaterThan(9);
    expect((world.nowMs - startMs) / 1_000).toBeLessThan(11);
    expect(() => host.disk.setLatency({ cached: { minMs: 3, maxMs: 1 } })).toThrow('minMs <=');
  });

  it('flips a bit of what was written and is not yet durable, too', async () => {
    const { world, host, file } = await openFile();
    await world.complete(file.write(0, Uint8Array.of(0, 0)));
    host.disk.flipBit('/data/file', 1);
    await world.complete(file.sync());
    host.crash();
    expect(await contentAfterRestart(world, host)).toEqual([0, 1]);
  });
});
