import { describe, expect, it } from 'vitest';
import { patientDisk, silentLogger, type Disk } from '../../src/index.ts';
import { SimWorld, type SimHost } from '../../src/sim/index.ts';

const PATIENCE_MS = 1_000;

function scene(): { world: SimWorld; host: SimHost; disk: Disk; warnings: object[] } {
  const world = new SimWorld({ seed: 1 });
  const host = world.host('a');
  const warnings: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => warnings.push(fields) };
  const disk = patientDisk(host.runtime.disk, { clock: host.runtime.clock, logger, patienceMs: PATIENCE_MS });
  return { world, host, disk, warnings };
}

describe('a disk that waits for a file descriptor', () => {
  it('opens a file, and makes one, as soon as one is free, and tells of the wait once', async () => {
    const { world, host, disk, warnings } = scene();
    host.disk.exhaustDescriptors(300);
    const file = await world.complete(disk.open('/file', 'create'));
    expect(world.nowMs).toBeGreaterThanOrEqual(300);
    expect(world.nowMs).toBeLessThan(450);
    await world.complete(file.append(0, [Uint8Array.of(1)]));
    host.disk.exhaustDescriptors(300);
    await world.complete(disk.syncDirectory('/'));
    expect([...(await world.complete(disk.readFile('/file')))]).toEqual([1]);
    expect(warnings).toMatchObject([{ path: '/file', patienceMs: PATIENCE_MS }, { path: '/' }]);
  });

  it('gives up when its patience ends, and never says that the file is not there', async () => {
    const { world, host, disk } = scene();
    host.disk.exhaustDescriptors(10_000);
    await expect(world.complete(disk.open('/file', 'existing'))).rejects.toMatchObject({ code: 'NO_DESCRIPTORS' });
    expect(world.nowMs).toBeGreaterThanOrEqual(PATIENCE_MS);
    expect(world.nowMs).toBeLessThan(PATIENCE_MS + 200);
  });

  it('does not wait for anything else', async () => {
    const { world, disk, warnings } = scene();
    await expect(world.complete(disk.open('/file', 'existing'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(world.nowMs).toBeLessThan(100);
    expect(warnings).toEqual([]);
  });
});
