import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { nodeRuntime } from '@holdfast/runtime/node';

import { EnsembleDirectory } from '../src/data-directory.ts';

const { disk } = nodeRuntime();
const shape = { servers: 3, basePort: 7_100, clusterId: 'local' };
let path: string;
let opened: EnsembleDirectory[];

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  opened = [];
});
afterEach(async () => {
  for (const directory of opened) await directory.release();
  rmSync(path, { recursive: true, force: true });
});

async function open(): Promise<EnsembleDirectory> {
  const directory = await EnsembleDirectory.open(path, disk);
  opened.push(directory);
  return directory;
}

describe('the data directory of an ensemble', () => {
  it('is refused to a second launcher while the first lives, and free after it', async () => {
    const first = await open();
    await expect(EnsembleDirectory.open(path, disk)).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('stop that one first') as string,
    });
    await first.release();
    opened = [];
    await open();
  });

  it('remembers its shape, and names the options that fit it', async () => {
    const directory = await open();
    expect(directory.hasDataOf(shape)).toBe(false);
    directory.claim(shape);
    expect(directory.hasDataOf(shape)).toBe(true);
    directory.claim(shape);
    expect(() => directory.claim({ ...shape, servers: 5 })).toThrow(
      'holds the data of 3 servers on base port 7100, not of 5 servers on base port 7100; start it with --servers 3 --base-port 7100, or with --fresh',
    );
    expect(() => directory.claim({ ...shape, basePort: 8_000 })).toThrow('--base-port 7100');
  });

  it('says so when the recorded shape cannot be read', async () => {
    const directory = await open();
    writeFileSync(join(path, 'ensemble.json'), '{');
    expect(() => directory.claim(shape)).toThrow('ensemble.json cannot be read');
  });

  it('clears what an ensemble made and nothing else', async () => {
    const directory = await open();
    directory.claim(shape);
    for (const name of ['server-1', 'server-12', 'fenced-kv', 'server-notes', 'mine']) mkdirSync(join(path, name));
    expect(directory.clear().toSorted()).toEqual(
      ['ensemble.json', 'fenced-kv', 'logs', 'server-1', 'server-12'].map((name) => join(path, name)),
    );
    expect(['mine', 'server-notes', 'logs'].every((name) => existsSync(join(path, name)))).toBe(true);
    directory.claim({ ...shape, servers: 5 });
  });

  it('sets a large log aside', async () => {
    const directory = await open();
    const file = directory.logFile('server-1');
    writeFileSync(file, Buffer.alloc(9 * 1024 * 1024));
    expect(directory.logFile('server-1')).toBe(file);
    expect(existsSync(file)).toBe(false);
    expect(existsSync(`${file}.old`)).toBe(true);
  });
});
