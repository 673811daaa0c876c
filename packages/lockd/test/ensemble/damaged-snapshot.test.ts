/** A server whose newest snapshot was altered on its disk: it is found while the state is restored from it, and nothing of it stays. */

import { CreateMode } from '@holdfast/protocol';
import { DamagedLogError, type Entry } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { SimEnsemble } from './sim-ensemble.ts';

const HEADER_BYTES = 512;
const NODES = 40;

interface Scene {
  readonly ensemble: SimEnsemble;
  readonly snapshots: readonly string[];
  /** Of the state behind each entry, of all lives of the server. */
  readonly digests: Map<number, Set<number>>;
}

/** One server that has taken snapshots, stopped in order; its log reaches so many bytes behind each. */
async function stopped(snapshotTrailingBytes: number): Promise<Scene> {
  const snapshots = { snapshotLogBytes: 4_096, snapshotTrailingBytes };
  const options = { snapshots, snapshotChunkBytes: 1_024, segmentBytes: 4_096 };
  const digests: Scene['digests'] = new Map();
  const applied = (_: number, { index }: Entry, digest: number): void => {
    digests.set(index, (digests.get(index) ?? new Set()).add(digest));
  };
  const ensemble = new SimEnsemble(1, 1, applied, options);
  await ensemble.start();
  const client = ensemble.client();
  for (let n = 0; n < NODES; n += 1) {
    const data = new Uint8Array(300).fill(n);
    await ensemble.complete(client.request({ type: 'create', path: `/n${n}`, data, mode: CreateMode.persistent }));
  }
  await ensemble.pass(1_000);
  await ensemble.complete(ensemble.server(1).stop());
  ensemble.crash(1);
  const found = diskOf(ensemble)
    .files()
    .filter((path) => path.endsWith('.snapshot'));
  return { ensemble, snapshots: found, digests };
}

function diskOf(ensemble: SimEnsemble): ReturnType<SimEnsemble['world']['host']>['disk'] {
  return ensemble.world.host(SimEnsemble.hostOf(1)).disk;
}

function damage({ ensemble }: Scene, path: string, share: number): void {
  const disk = diskOf(ensemble);
  const { length } = disk.bytes(path);
  disk.flipBit(path, Math.floor(HEADER_BYTES + share * (length - HEADER_BYTES)));
}

describe('a server whose newest snapshot is damaged', () => {
  it.each([0, 0.3, 0.6, 0.9])('starts from an older one and the log behind it (damage at %d)', async (share) => {
    const scene = await stopped(8_192);
    const { ensemble, snapshots, digests } = scene;
    expect(snapshots.length).toBeGreaterThan(1);
    damage(scene, snapshots.at(-1) ?? '', share);
    const known = digests.size;
    await ensemble.startServer(1);
    await ensemble.until(() => digests.size > known);
    // Entries were applied again, and made the state that they had made before.
    expect([...digests.values()].filter((found) => found.size !== 1)).toEqual([]);
    expect(ensemble.server(1).state.counts.nodes).toBe(NODES + 3);
    expect(diskOf(ensemble).files()).not.toContain(snapshots.at(-1));
    expect(ensemble.failures).toEqual([]);
  });

  it('does not start when nothing else has that state', async () => {
    const scene = await stopped(0);
    for (const path of scene.snapshots) damage(scene, path, 0.5);
    await expect(scene.ensemble.startServer(1)).rejects.toThrow(DamagedLogError);
    expect(diskOf(scene.ensemble).files()).toEqual(expect.arrayContaining([...scene.snapshots]));
  });
});
