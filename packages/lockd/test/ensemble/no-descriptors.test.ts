/** Servers whose process has no file descriptor left for a moment, as while a crowd has them all. */

import { CreateMode } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { SimEnsemble } from './sim-ensemble.ts';

/** Within an election timeout. */
const MOMENT_MS = 600;

function diskOf(ensemble: SimEnsemble, id: number): ReturnType<SimEnsemble['world']['host']>['disk'] {
  return ensemble.world.host(SimEnsemble.hostOf(id)).disk;
}

async function write(ensemble: SimEnsemble, from: number, count: number): Promise<void> {
  const client = ensemble.client();
  for (let n = from; n < from + count; n += 1) {
    const node = { type: 'create', path: `/n${n}`, data: new Uint8Array(3_000), mode: CreateMode.persistent };
    expect(await ensemble.complete(client.request(node as Parameters<typeof client.request>[0]))).toMatchObject({
      type: 'created',
    });
  }
}

describe('servers that run out of file descriptors', () => {
  it('wait for one at the switch to the next log segment, and lose nothing', async () => {
    const ensemble = new SimEnsemble(1, 3, () => {}, { segmentBytes: 16 * 1024 });
    await ensemble.start();
    await write(ensemble, 0, 3);
    for (const id of ensemble.ids) diskOf(ensemble, id).exhaustDescriptors(MOMENT_MS);
    await write(ensemble, 3, 12);
    expect(ensemble.failures).toEqual([]);
    for (const id of ensemble.ids) expect(ensemble.server(id).state.counts.nodes).toBeGreaterThanOrEqual(15);
  });

  it('wait for one at a start, and find everything', async () => {
    const ensemble = new SimEnsemble(2, 1, () => {}, { segmentBytes: 16 * 1024 });
    await ensemble.start();
    await write(ensemble, 0, 10);
    const { nodes } = ensemble.server(1).state.counts;
    ensemble.crash(1);
    const disk = diskOf(ensemble, 1);
    const before = disk.files();
    disk.exhaustDescriptors(60_000);
    await expect(ensemble.startServer(1)).rejects.toMatchObject({ code: 'NO_DESCRIPTORS' });
    expect(disk.files()).toEqual(before);
    disk.exhaustDescriptors(MOMENT_MS);
    await ensemble.startServer(1);
    await ensemble.until(() => ensemble.server(1).state.counts.nodes === nodes);
    expect(ensemble.failures).toEqual([]);
  });
});
