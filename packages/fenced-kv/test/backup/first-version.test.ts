/**
 * What the first version of the format is: `fixtures/first-version.backup` has its bytes. Once it is released it is never recorded again: a
 * build that cannot read it has lost somebody's data. A new version gets a file of its own.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { readBackup } from '../../src/backup/backup-file.ts';
import { restoreBackup } from '../../src/backup/restore.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

const RECORDED = readFileSync(fileURLToPath(new URL('fixtures/first-version.backup', import.meta.url)));
const FILE = '/backups/file';
const CLOCK = { wallMs: () => 1_800_000_000_000, monotonicMs: () => 0 };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** One of everything that a backup can have. */
async function fill(store: FencedStore): Promise<void> {
  await store.create('bound', { tokens: 'required', lock: 'jobs/ключ' });
  await store.create('open', { tokens: 'optional' });
  await store.write('open', [{ key: 'empty', value: bytes('') }]);
  await store.write(
    'accounts',
    [
      { key: 'a', value: bytes('plain') },
      { key: 'ключ/1', value: bytes('expires'), ttlMs: 500_000 },
    ],
    { token: 41, floor: 40 },
  );
  const upload = store.upload('accounts', { token: 57 });
  await upload.append(bytes('in chunks'));
  await store.write('accounts', [{ key: 'large', value: upload.value }], { token: 57 });
  await upload.used();
}

const onDisk = (world: SimWorld): ReturnType<SimWorld['host']>['runtime']['disk'] => world.host('kv').runtime.disk;

describe('a backup of the first version', () => {
  it('is what this build writes, byte for byte', async () => {
    const world = new SimWorld({ seed: 1 });
    const disk = onDisk(world);
    const written = async (): Promise<Uint8Array> => {
      const engine = memoryEngine();
      await fill(await FencedStore.open(engine, { clock: CLOCK }));
      await disk.makeDirectory('/backups');
      await writeBackup(FILE, disk, engine);
      return await disk.readFile(FILE);
    };
    const found = await world.complete(written());
    expect(Buffer.from(found).toString('hex')).toBe(RECORDED.toString('hex'));
  });

  it('is restored with every bucket, fence, key and value', async () => {
    const world = new SimWorld({ seed: 1 });
    const disk = onDisk(world);
    const engine = memoryEngine();
    const restored = async (): Promise<FencedStore> => {
      await disk.makeDirectory('/backups');
      const file = await disk.open(FILE, 'create');
      await file.write(0, RECORDED);
      expect(await restoreBackup(engine, readBackup(file))).toEqual({ buckets: 3, keys: 4, keptFences: 0 });
      return await FencedStore.open(engine, { clock: CLOCK });
    };
    const store = await world.complete(restored());
    expect(store.info('bound')).toMatchObject({ tokens: 'required', lock: 'jobs/ключ', highest: 0, keys: 0 });
    expect(store.info('open')).toMatchObject({ tokens: 'optional', lock: null, highest: 0, keys: 1 });
    expect(store.info('accounts')).toMatchObject({ tokens: 'required', highest: 57, keys: 3 });
    const read = (bucket: string, key: string): string => new TextDecoder().decode(store.get(bucket, key).value);
    expect(['a', 'ключ/1', 'large'].map((key) => read('accounts', key))).toEqual(['plain', 'expires', 'in chunks']);
    expect(read('open', 'empty')).toBe('');
    expect(store.open('accounts', 'ключ/1').expiresInMs).toBe(500_000);
    expect(await refusalOf(() => store.get('accounts', 'a', { token: 56 }))).toMatchObject({ code: 'STALE_TOKEN' });
  });
});
