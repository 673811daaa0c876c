/** A fenced store of three replicas as real processes, with three servers of the ensemble. */

import { rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';

import { connect, type Client } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';
import { FencedKv, StaleTokenError, type Bucket } from '@holdfast/fenced-kv-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { startScratchEnsemble } from '../scratch-ensemble.ts';
import { IDS, ScratchReplicas, type Id } from './scratch-replicas.ts';
import { Writers } from './writers.ts';

const WRITERS = 8;
/** What is acknowledged before, between and after the faults. */
const ENOUGH = 200;

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

beforeEach(async () => {
  replicas = await ScratchReplicas.make(ensemble.clientAddresses);
  kv = new FencedKv(replicas.urls, { timeoutMs: 60_000, follow: { nodes: client.nodes, group: replicas.group } });
});

async function beginAll(): Promise<void> {
  for (const id of IDS) replicas.begin(id);
  await replicas.primary();
}

afterEach(async () => {
  kv?.close();
  await replicas?.stop();
});

/** Clients that write keys of their own, and remember what was acknowledged. */
class Load extends Writers {
  readonly kept: ReadonlyMap<string, string>;

  constructor(bucket: Bucket) {
    const kept = new Map<string, string>();
    const write = async (number: number, writer: number): Promise<void> => {
      const key = `${writer}-${number}`;
      await bucket.put(key, `value of ${key}`);
      kept.set(key, `value of ${key}`);
    };
    super(write, { count: WRITERS });
    this.kept = kept;
  }
}

async function assertKept(bucket: Bucket, acknowledged: ReadonlyMap<string, string>): Promise<void> {
  for (const [key, value] of acknowledged) {
    const found = await bucket.get(key);
    expect(new TextDecoder().decode(found?.value)).toBe(value);
  }
}

/** For whoever reads the log of the tests. */
function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const others = (id: Id): Id[] => IDS.filter((each) => each !== id);

describe('a group of three replicas', () => {
  beforeEach(beginAll);

  it('loses nothing that was acknowledged when its primary is killed under load, twice, and keeps the fence', async () => {
    const held = await client.lock('jobs').acquire();
    const jobs = await kv.bucket('jobs').fencedBy(held);
    const load = new Load(jobs);
    await load.more(ENOUGH);
    for (let round = 0; round < 2; round += 1) {
      const killed = await replicas.primary();
      const before = load.acknowledged;
      const killedMs = performance.now();
      await replicas.end(killed, 'SIGKILL');
      await replicas.primary(killed);
      await load.more(before + WRITERS + 1 - load.acknowledged);
      // Printed, not judged: the machine may be busy with other tests.
      print(
        `fail-over ${round + 1}: ${Math.round(load.lastAcknowledgedMs - killedMs)} ms from kill -9 to writes again`,
      );
      await load.more(ENOUGH);
      // It missed writes: it catches up before it counts again, while clients write.
      replicas.begin(killed);
      await replicas.allInSync();
      await load.more(ENOUGH);
    }
    await load.stop();
    expect(load.failures).toEqual([]);
    await assertKept(jobs, load.kept);
    print(`${load.acknowledged} acknowledged, ${load.unknown} with an unknown outcome`);
    const late = kv.bucket('jobs').fencedBy({ token: held.token - 1 });
    await expect(late).rejects.toBeInstanceOf(StaleTokenError);
    expect(await kv.bucket('jobs').info()).toMatchObject({ highest: held.token });
    await held.release();
  });

  it('gives nothing old from a primary that was paused while another one took its place', async () => {
    const jobs = await kv.bucket('jobs').fencedBy({ token: 5 });
    await jobs.put('k', 'old');
    const paused = await replicas.primary();
    replicas.signal(paused, 'SIGSTOP');
    await replicas.primary(paused);
    const newer = await kv.bucket('jobs').fencedBy({ token: 6 });
    await newer.put('k', 'new');
    // It is asked before it can have heard of anything, and answers when it wakes.
    const late = new FencedKv(replicas.url(paused), { timeoutMs: 30_000 }).bucket('jobs');
    const asked = [late.get('k'), late.fencedBy({ token: 5 }).then(async (bucket) => await bucket.put('k', 'late'))];
    replicas.signal(paused, 'SIGCONT');
    const answers = await Promise.allSettled(asked);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'NOT_PRIMARY' } });
    }
    expect(new TextDecoder().decode((await kv.bucket('jobs').get('k'))?.value)).toBe('new');
  });

  it('says at every other replica where the primary is, and under which epoch it answers', async () => {
    const primary = await replicas.primary();
    const served = await fetch(`${replicas.url(primary)}/v1/buckets/jobs/fence`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"token":5}',
    });
    const epoch = served.headers.get('group-epoch');
    expect({ status: served.status, epoch }).toEqual({ status: 200, epoch: expect.stringMatching(/^[1-9][0-9]*$/) });
    for (const id of others(primary)) {
      await expect
        .poll(async () => {
          const answer = await fetch(`${replicas.url(id)}/v1/buckets/jobs`);
          return { status: answer.status, body: (await answer.json()) as unknown };
        })
        .toMatchObject({
          status: 503,
          body: {
            code: 'NOT_PRIMARY',
            indeterminate: false,
            epoch: Number(epoch),
            primary: { url: replicas.url(primary) },
          },
        });
    }
    const ahead = { headers: { 'group-epoch': String(Number(epoch) + 1) } };
    const answer = await fetch(`${replicas.url(primary)}/v1/buckets/jobs`, ahead);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 503,
      body: { code: 'NOT_PRIMARY' },
    });
  });

  it('stops cleanly, and has all after every replica was killed at once', async () => {
    const load = new Load(await kv.bucket('jobs').fencedBy({ token: 5 }));
    await load.more(ENOUGH);
    const [stopped] = IDS;
    expect(await replicas.end(stopped, 'SIGTERM')).toMatchObject({ exitCode: 0 });
    await load.more(ENOUGH);
    for (const id of others(stopped)) replicas.signal(id, 'SIGKILL');
    for (const id of others(stopped)) await replicas.ended(id);
    for (const id of IDS) replicas.begin(id);
    await replicas.primary();
    await load.more(ENOUGH);
    await load.stop();
    expect(load.failures).toEqual([]);
    await assertKept(kv.bucket('jobs'), load.kept);
  });
});

describe('the data directory of a replica', () => {
  beforeEach(beginAll);

  it('is not believed when it was lost and made anew under its id', async () => {
    const [lost] = others(await replicas.primary());
    if (lost === undefined) throw new Error('a group of three has two that are not primary');
    await replicas.end(lost, 'SIGKILL');
    await rm(replicas.data(lost), { recursive: true });
    replicas.begin(lost);
    const { exitCode, output } = await replicas.ended(lost);
    expect(exitCode).toBe(2);
    expect(output).toContain('an id is for one directory for all time');
  });

  it('gives a backup of all that was acknowledged, and takes no command that would change it alone', async () => {
    const load = new Load(await kv.bucket('jobs').fencedBy({ token: 5 }));
    await load.more(ENOUGH);
    await load.stop();
    await replicas.allInSync();
    const [id] = others(await replicas.primary());
    if (id === undefined) throw new Error('a group of three has two that are not primary');
    // In the middle of everything: what is acknowledged may be in its log alone.
    await replicas.end(id, 'SIGKILL');
    const file = join(replicas.directory, 'backup');
    expect(await replicas.command('backup', '--data', replicas.data(id), '--to', file)).toMatchObject({ exitCode: 0 });
    for (const args of [
      ['restore', '--from', file],
      ['reset-fence', 'jobs'],
      ['bind', 'jobs', '--lock', 'jobs'],
      ['--listen', '127.0.0.1:0'],
    ]) {
      const refused = await replicas.command(...args, '--data', replicas.data(id));
      expect(refused).toMatchObject({ exitCode: 2, output: expect.stringContaining(`is that of replica ${id}`) });
    }
    const restored = join(replicas.directory, 'restored');
    const { exitCode, output } = await replicas.command('restore', '--data', restored, '--from', file);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0, output: expect.stringContaining('restored 1 buckets') });
    const keys = Number(/, ([0-9]+) keys/.exec(output)?.[1]);
    expect(keys).toBeGreaterThanOrEqual(load.acknowledged);
    expect(keys).toBeLessThanOrEqual(load.acknowledged + load.unknown);
  });
});

describe('a replica that begins', () => {
  it('with the data of a store has the others get it, when it is the first of the group', async () => {
    const alone = { '--initial-in-sync': 'r1' };
    const serve = ['--listen', replicas.url('r1').replace('http://', ''), '--data', replicas.data('r1')];
    const single = replicas.command(...serve);
    const store = new FencedKv([replicas.url('r1')], { timeoutMs: 60_000 });
    await (await store.bucket('jobs').fencedBy({ token: 7 })).put('k', 'from before');
    expect(replicas.endCommands('SIGTERM')).toBe(1);
    expect(await single).toMatchObject({ exitCode: 0 });
    // In a group that begins with others, nobody would have it.
    replicas.begin('r1');
    const refused = await replicas.ended('r1');
    expect(refused).toMatchObject({ exitCode: 2, output: expect.stringContaining('in no group') });
    for (const id of IDS) replicas.begin(id, alone);
    await replicas.allInSync();
    await replicas.end('r1', 'SIGKILL');
    await replicas.primary('r1');
    expect(new TextDecoder().decode((await kv.bucket('jobs').get('k'))?.value)).toBe('from before');
    await expect(kv.bucket('jobs').fencedBy({ token: 6 })).rejects.toBeInstanceOf(StaleTokenError);
  });

  it('without the ensemble waits for it, and ends when it is asked to', async () => {
    replicas.begin('r1', { '--ensemble': '127.0.0.1:1' });
    expect(await replicas.answers('r1')).toMatchObject({ serving: false, epoch: 0 });
    await expect(new FencedKv(replicas.url('r1')).bucket('jobs').info()).rejects.toMatchObject({ code: 'NOT_PRIMARY' });
    expect(await replicas.end('r1', 'SIGTERM')).toMatchObject({ exitCode: 0 });
  });

  it('where another one listens already ends, and says so', async () => {
    replicas.begin('r1');
    await replicas.answers('r1');
    await expect.poll(async () => await connects(replicas.peer('r1'))).toBe(true);
    replicas.begin('r2', { '--peer-listen': replicas.peer('r1') });
    const { exitCode, output } = await replicas.ended('r2');
    expect({ exitCode, output }).toMatchObject({ exitCode: 64, output: expect.stringContaining('--peer-listen') });
  });

  it('with another secret takes no part', async () => {
    const secret = join(replicas.directory, 'other-secret');
    await writeFile(secret, 'the secret of another group');
    replicas.begin('r1');
    replicas.begin('r2');
    replicas.begin('r3', { '--secret-file': secret });
    // The two are a majority, and go on without it.
    await expect
      .poll(async () => (await replicas.health(await replicas.primary()))?.inSync.length, { timeout: 60_000 })
      .toBe(2);
    expect((await replicas.health('r3'))?.serving).toBe(false);
  });
});

async function connects(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  return await new Promise((resolve) => {
    const socket = createConnection({ host, port: Number(port) }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
