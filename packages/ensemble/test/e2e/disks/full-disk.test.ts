import { readdirSync } from 'node:fs';
import { connect, OverloadedError, type Client } from '@holdfast/client';
import { findFreeBasePort, LocalEnsemble } from '@holdfast/ensemble';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SmallDisk } from '../../support/small-disk.ts';

const MIB = 2 ** 20;
/** Of three servers with a segment of 64 MiB each, and room above their reserve of 192 MiB. */
const DISK_MIB = 640;
const NOTICED = { timeout: 20_000, interval: 100 };

let disk: SmallDisk | string;
let ensemble: LocalEnsemble;
let client: Client;
const acknowledged: string[] = [];

beforeAll(async () => {
  disk = SmallDisk.mount(DISK_MIB);
  if (typeof disk === 'string') return;
  const dataDirectory = disk.path;
  ensemble = await LocalEnsemble.start({ dataDirectory, basePort: await findFreeBasePort(3), fencedKv: false });
  client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 60_000 });
});

afterAll(async () => {
  if (disk === undefined || typeof disk === 'string') return;
  disk.clear();
  await client?.close();
  await ensemble?.stop();
  disk.unmount();
});

async function create(): Promise<void> {
  const path = `/n${String(acknowledged.length).padStart(3, '0')}`;
  await client.nodes.create(path, new Uint8Array(1_000));
  acknowledged.push(path);
}

/** What the next write is refused with; undefined while it is not. */
async function refusal(): Promise<unknown> {
  return create().then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function answer(id: number, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://${ensemble.clientAddresses[id - 1]}${path}`);
  return { status: response.status, text: await response.text() };
}

async function expectEverything(): Promise<void> {
  const { names } = await client.nodes.children('/');
  expect(names).toEqual(['holdfast', ...acknowledged.map((path) => path.slice(1))]);
}

describe('servers on a disk that fills up', () => {
  it('refuse writes before it is full, say whose disk it is, and give back what is held', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    const held = await client.lock('a').acquire();
    for (let n = 0; n < 20; n += 1) await create();
    disk.fillUpTo(150 * MIB);
    await expect.poll(refusal, NOTICED).toBeInstanceOf(OverloadedError);
    const error = await refusal();
    expect(error).toMatchObject({ code: 'DISK_FULL', retryable: true, indeterminate: false });
    expect(error).toHaveProperty('message', expect.stringMatching(/the disk of server [123] is almost full/));
    expect(disk.freeBytes).toBeGreaterThan(100 * MIB);

    const leader = await ensemble.waitForLeader();
    // A leader that is low transfers leadership to a server that may not have looked at its disk yet: each looks once a second.
    const told = (path: string): Promise<unknown> => answer(leader, path);
    const low = { status: 503, text: expect.stringContaining('almost full') };
    await expect.poll(() => told('/ready'), NOTICED).toMatchObject(low);
    const warned = { status: 200, text: expect.stringContaining('warning') };
    await expect.poll(() => told('/health'), NOTICED).toMatchObject(warned);
    const counted = { text: expect.stringMatching(/holdfast_disk_low\{server="\d"\} 1/) };
    await expect.poll(() => told('/metrics'), NOTICED).toMatchObject(counted);
    await held.verify();
    await held.release();
    await expectEverything();
  });

  it('do not start when it is full, and leave everything as it was', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    await ensemble.kill(1);
    disk.fillUpTo(10 * MIB);
    const before = readdirSync(ensemble.directory.server(1), { recursive: true, encoding: 'utf8' }).toSorted();
    await expect(ensemble.restart(1)).rejects.toThrow(/the disk failed or is full/);
    const log = await ensemble.restart(1).catch((error: Error) => error.message);
    expect(log).toMatch(/has \d+ bytes free, and this server needs \d+ to start: free space there/);
    expect(log).toContain('"exitCode":68');
    expect(readdirSync(ensemble.directory.server(1), { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(before);
  });

  it('accept writes again when there is room, and have lost nothing', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    disk.clear();
    ensemble.launch(1);
    await expect.poll(refusal, NOTICED).toBeUndefined();
    await expectEverything();
    await ensemble.killAll();
    for (const id of ensemble.servers) ensemble.launch(id);
    await ensemble.waitUntilReady();
    await create();
    await expectEverything();
  });
});
