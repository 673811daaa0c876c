/** What operators do to a group that serves: real replicas and a real ensemble, while clients write. */

import { join } from 'node:path';
import { compileFunction } from 'node:vm';

import { connect, type Client } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';
import { FencedKv, GroupNotFoundError, StaleTokenError, type Bucket } from '@holdfast/fenced-kv-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { codeBlocks } from '../../support/documents.ts';
import { startScratchEnsemble } from '../scratch-ensemble.ts';
import { IDS, PAGE_GROUP, ScratchReplicas, type Id } from './scratch-replicas.ts';
import { Writers } from './writers.ts';

const FAR = Number.MAX_SAFE_INTEGER;
/** Within what a bucket takes at once, and above what a new ensemble gives. */
const FAR_FROM_ALL = 1_000_000;
const KEYS = 20;
/** So that a backup has many turns, and writes are committed between them. */
const VALUE_LENGTH = 60_000;
const ENOUGH = 10;

let ensemble: LocalEnsemble;
let stopEnsemble: () => Promise<void>;
let client: Client;
let replicas: ScratchReplicas;
let kv: FencedKv;

beforeAll(async () => {
  ({ ensemble, stop: stopEnsemble } = await startScratchEnsemble());
  client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 60_000 });
});

afterAll(async () => {
  await client?.close();
  await stopEnsemble?.();
});

afterEach(async () => {
  kv?.close();
  await replicas?.stop();
});

async function makeGroup(group?: string): Promise<void> {
  replicas = await ScratchReplicas.make(ensemble.clientAddresses, group);
  kv = new FencedKv({ nodes: client.nodes, group: replicas.group }, { timeoutMs: 60_000 });
}

async function begin(changes: Readonly<Record<string, string>> = {}): Promise<Id> {
  for (const id of IDS) replicas.begin(id, changes);
  await replicas.allInSync();
  return await replicas.primary();
}

const others = (id: Id): Id[] => IDS.filter((each) => each !== id);

/** Each batch gives every key the same number: what has two numbers existed at no revision. */
function writeBatches(bucket: Bucket): Writers {
  const keys = Array.from({ length: KEYS }, (_, key) => `k${key}`);
  // Numbers grow, so one that was given up does no harm when it comes after all: nobody writes beside it.
  const write = async (number: number): Promise<void> =>
    void (await bucket.batch(keys.map((key) => ({ op: 'put', key, value: String(number).padEnd(VALUE_LENGTH) }))));
  return new Writers(write, { pauseMs: 40 });
}

/** The number of all keys in a store that is made of the backup. */
async function restoredNumber(from: string): Promise<number> {
  const into = `${from}-restored`;
  expect(await replicas.command('restore', '--data', into, '--from', from)).toMatchObject({ exitCode: 0 });
  const { url, ended } = await replicas.single(into);
  const bucket = new FencedKv(url).bucket('jobs');
  const numbers = new Set<string>();
  for (const { key } of (await bucket.list()).keys)
    numbers.add(new TextDecoder().decode((await bucket.get(key))?.value).trimEnd());
  await expect(bucket.fencedBy({ token: 4 })).rejects.toBeInstanceOf(StaleTokenError);
  replicas.endCommands('SIGTERM');
  await ended;
  expect(numbers.size).toBe(1);
  return Number([...numbers][0]);
}

describe('fenced-kvd bind and reset-fence in a group that serves', () => {
  it('are carried out by the primary for all replicas, outlive it, and are refused elsewhere with where it is', async () => {
    await makeGroup();
    const primary = await begin({ '--allow-token-jumps': '' });
    await (await kv.bucket('jobs').fencedBy({ token: FAR })).put('k', 'v');
    const bind = ['bind', 'jobs', '--lock', 'jobs', '--data'];
    const reset = ['reset-fence', 'jobs', '--to', '5', '--from', String(FAR), '--data'];
    for (const id of others(primary)) {
      for (const command of [bind, reset]) {
        const { exitCode, output } = await replicas.command(...command, replicas.data(id));
        expect({ exitCode, output }).toMatchObject({
          exitCode: 1,
          output: expect.stringContaining(replicas.url(primary)),
        });
      }
    }
    expect(await kv.bucket('jobs').info()).toMatchObject({ highest: FAR, lock: null });
    const unconfirmed = await replicas.command('reset-fence', 'jobs', '--to', '5', '--data', replicas.data(primary));
    expect(unconfirmed).toMatchObject({ exitCode: 2, output: expect.stringContaining(`--from ${FAR}`) });
    for (const previous of [String(FAR), '5']) {
      expect(await replicas.command(...reset, replicas.data(primary))).toMatchObject({
        exitCode: 0,
        output: `bucket jobs: highest token ${previous} -> 5\n`,
      });
    }
    expect(await replicas.command(...bind, replicas.data(primary))).toMatchObject({ exitCode: 0 });
    const { output } = await replicas.end(primary, 'SIGKILL');
    expect(output).toMatch(/"epoch":[0-9]+,"highest":5,.*an operator reset the fence of a bucket/);
    const next = await replicas.primary(primary);
    expect(await kv.bucket('jobs').info()).toMatchObject({ highest: 5, lock: 'jobs' });
    // What no lock has given is refused now, and a holder of the lock is let in.
    await expect(kv.bucket('jobs').fencedBy({ token: FAR })).rejects.toMatchObject({ code: 'TOKEN_NOT_GRANTED' });
    const held = await client.lock('jobs').acquire();
    await (await kv.bucket('jobs').fencedBy(held)).put('k', 'w');
    await held.release();
    expect(await replicas.command(...bind, replicas.data(next))).toMatchObject({
      exitCode: 0,
      output: 'bucket jobs: lock jobs -> jobs\n',
    });
  });
});

describe('fenced-kvd backup of a group that serves', () => {
  it('is one state at any in-sync replica, with what was acknowledged before, while clients write on', async () => {
    await makeGroup();
    const primary = await begin();
    const load = writeBatches(await kv.bucket('jobs').fencedBy({ token: 5 }));
    await load.more(ENOUGH);
    const taken: { readonly file: string; readonly before: number; readonly after: number }[] = [];
    for (const id of IDS) {
      const file = join(replicas.directory, `backup-${id}`);
      const before = load.last;
      const { exitCode, output } = await replicas.command('backup', '--data', replicas.data(id), '--to', file);
      taken.push({ file, before, after: load.last });
      expect({ exitCode, output }).toEqual({ exitCode: 0, output: `backup ${file}: 1 buckets, ${KEYS} keys\n` });
    }
    await load.more(ENOUGH);
    // One that has missed writes, and comes back: it gives a backup when it counts again.
    const [lagging] = others(primary);
    if (lagging === undefined) throw new Error('a group of three has two that are not primary');
    await replicas.end(lagging, 'SIGKILL');
    await load.more(ENOUGH);
    replicas.begin(lagging);
    await replicas.allInSync();
    const file = join(replicas.directory, 'backup-again');
    const before = load.last;
    const again = await replicas.backup(lagging, file);
    taken.push({ file, before, after: load.last });
    expect(again).toMatchObject({ exitCode: 0 });
    await load.stop();
    expect(load.failures).toEqual([]);
    for (const each of taken) {
      const number = await restoredNumber(each.file);
      expect(number).toBeGreaterThanOrEqual(each.before);
      expect(number).toBeLessThanOrEqual(each.after + 1);
    }
  });

  it('is refused by a replica that cannot know what was acknowledged, and by none for long', async () => {
    await makeGroup();
    const primary = await begin();
    await (await kv.bucket('jobs').fencedBy({ token: 5 })).put('k', '1');
    const [left, gone] = others(primary);
    if (left === undefined || gone === undefined) throw new Error('a group of three has two that are not primary');
    await replicas.end(gone, 'SIGKILL');
    await expect.poll(async () => (await replicas.health(primary))?.inSync.length, { timeout: 60_000 }).toBe(2);
    // It begins again where the ensemble does not answer: of the group it knows what its disk has.
    replicas.begin(gone, { '--ensemble': '127.0.0.1:1' });
    await replicas.answers(gone);
    const file = join(replicas.directory, 'backup');
    const refused = await replicas.command('backup', '--data', replicas.data(gone), '--to', file);
    expect(refused).toMatchObject({ exitCode: 1, output: expect.stringContaining('not known to be in sync') });
    await replicas.end(gone, 'SIGTERM');
    replicas.begin(gone);
    await replicas.allInSync();
    expect(await replicas.backup(gone, file)).toMatchObject({ exitCode: 0 });
    expect(await restoredNumber(file)).toBe(1);
  });
});

describe('a client that knows the ensemble and the name of a group', () => {
  it('finds it once it has begun, and follows all its replicas to other addresses', async () => {
    await makeGroup(PAGE_GROUP);
    await expect(kv.bucket('jobs').info()).rejects.toBeInstanceOf(GroupNotFoundError);
    await begin();
    await runPage();
    expect(new TextDecoder().decode((await kv.bucket('jobs').get('k'))?.value)).toBe('value');
    const jobs = await kv.bucket('jobs').fencedBy({ token: FAR_FROM_ALL });
    const before = replicas.urls;
    for (const id of IDS) {
      await replicas.end(id, 'SIGTERM');
      await replicas.move(id);
      replicas.begin(id);
      await replicas.allInSync();
    }
    expect(before.filter((url) => replicas.urls.includes(url))).toEqual([]);
    await jobs.put('k', 'w');
    expect(new TextDecoder().decode((await kv.bucket('jobs').get('k'))?.value)).toBe('w');
  });
});

/** The lines of the page, as a reader copies them. */
async function runPage(): Promise<void> {
  const page = 'docs/replicated-store.md';
  const block = codeBlocks().find(({ at, language }) => at.startsWith(page) && language === 'ts');
  const lines = (block?.text ?? '').replaceAll(/^import .*\n/gm, '');
  expect(lines).toContain('new FencedKv({');
  const body = compileFunction(`return (async () => {\n${lines}\n})();`, ['client', 'FencedKv'], {
    filename: page,
  }) as (...given: readonly unknown[]) => Promise<void>;
  await body(client, FencedKv);
}
