import { silentLogger } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { DiskSpace } from '../../src/health/disk-space.ts';
import { DISK_CHECK_INTERVAL_MS } from '../../src/limits.ts';

const [RESERVE, RESUME] = [1_000, 1_500];

type Free = number | 'fails';

/** Free bytes at each check, and what the server then says: `low` or `room`. */
function watch(...free: readonly Free[]): Promise<string[]> {
  return seenBy((space) => (space.freeBytes === undefined ? 'unknown' : space.low ? 'low' : 'room'), free);
}

function watchTight(...free: readonly Free[]): Promise<boolean[]> {
  return seenBy((space) => space.tight, free);
}

async function seenBy<T>(look: (space: DiskSpace) => T, free: readonly Free[]): Promise<T[]> {
  const world = new SimWorld({ seed: 1 });
  const host = world.host('s1');
  const { disk, clock } = host.runtime;
  await world.complete(disk.makeDirectory('/data'));
  const options = { path: '/data', reserveBytes: RESERVE, resumeBytes: RESUME };
  const space = new DiskSpace(options, { disk, clock, logger: silentLogger });
  const seen: T[] = [];
  for (const [round, bytes] of free.entries()) {
    if (bytes === 'fails') host.disk.failNext('list', 'IO');
    else host.disk.setFreeBytes(bytes);
    if (round === 0) await world.complete(space.start(() => {}));
    else await world.run({ untilMs: world.nowMs + DISK_CHECK_INTERVAL_MS + 10 });
    seen.push(look(space));
  }
  space.stop();
  return seen;
}

describe('the room on a disk', () => {
  it('is low below the reserve', async () => {
    expect(await watch(RESERVE, RESERVE - 1, 0)).toEqual(['room', 'low', 'low']);
  });

  it('stays low up to the resume mark, so that it does not flap', async () => {
    expect(await watch(RESERVE - 1, RESERVE, RESUME - 1, RESUME, RESUME - 1, RESERVE)).toEqual([
      'low',
      'low',
      'low',
      'room',
      'room',
      'room',
    ]);
  });

  it('is tight before it is low, up to the resume mark', async () => {
    expect(await watchTight(RESUME, RESUME - 1, RESERVE - 1, 'fails', RESUME)).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it('is known from the start', async () => {
    expect(await watch(10)).toEqual(['low']);
  });

  it('is not taken for low while it cannot be asked', async () => {
    expect(await watch(RESUME, 'fails', RESUME)).toEqual(['room', 'unknown', 'room']);
  });
});
