import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { silentLogger } from '@holdfast/runtime';
import { beforeEach, describe, expect, it } from 'vitest';

import { AuthorityError } from '../../src/confirmation.ts';
import type { LockLook } from '../../src/confirmation.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import type { HttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { routeOf } from '../../src/http/metrics.ts';
import { NotPrimaryError } from '../../src/http/store-source.ts';
import { METRICS_MAX_AGE_MS } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';

const DOCUMENT = fileURLToPath(new URL('../../../../docs/fenced-kv.md', import.meta.url));
const ORIGIN = 'http://127.0.0.1:7400';
const OCTETS = { 'content-type': 'application/octet-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = '/v1/buckets/accounts/keys/42';

let now: number;
let engine: MemoryEngine;
let look: () => LockLook;
let handler: HttpHandler;

async function open(): Promise<void> {
  const clock = { monotonicMs: () => now };
  const store = await FencedStore.open(engine, { authority: { look: async () => look() } });
  handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger, clock });
}

beforeEach(async () => {
  now = 0;
  engine = memoryEngine();
  look = () => ({ held: { lowest: 57, highest: 57 }, index: 60 });
  await open();
});

async function send(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<void> {
  const response = await handler(new Request(`${ORIGIN}${path}`, { method, headers, body: body ?? null }));
  await response.arrayBuffer();
}

async function put(token: number, path = KEY): Promise<void> {
  await send('PUT', path, { ...OCTETS, 'fencing-token': String(token) }, 'value');
}

/** The samples of a page that is not the last one again. */
async function samples(): Promise<ReadonlyMap<string, number>> {
  now += METRICS_MAX_AGE_MS;
  const response = await handler(new Request(`${ORIGIN}/metrics`));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

describe('the metrics', () => {
  it('count requests by method, route and status, and never by a name', async () => {
    await put(57);
    await put(57, '/v1/buckets/other/keys/a%2Fb');
    await put(56);
    await send('GET', KEY);
    await send('GET', '/v1/buckets/nobody');
    await send('BREW', '/v1/buckets/accounts');
    const found = await samples();
    const requests = [...found].filter(([name]) => name.startsWith('fenced_kv_requests_total'));
    const route = '/v1/buckets/{bucket}/keys/{key}';
    expect(Object.fromEntries(requests)).toEqual({
      [`fenced_kv_requests_total{method="PUT",route="${route}",status="204"}`]: 2,
      [`fenced_kv_requests_total{method="PUT",route="${route}",status="412"}`]: 1,
      [`fenced_kv_requests_total{method="GET",route="${route}",status="200"}`]: 1,
      'fenced_kv_requests_total{method="GET",route="/v1/buckets/{bucket}",status="404"}': 1,
      'fenced_kv_requests_total{method="other",route="/v1/buckets/{bucket}",status="405"}': 1,
    });
  });

  it('count refusals and failures by their code', async () => {
    await put(57);
    await put(56);
    await put(55);
    await send('PUT', KEY, { 'fencing-token': '57' }, 'value');
    await send('GET', '/v1/buckets/nobody');
    await send('GET', '/nowhere');
    await send('PATCH', KEY);
    await send('GET', KEY, { origin: 'https://example.com' });
    await send('GET', KEY, { host: 'example.com' });
    await send('PUT', '/v1/buckets/bound', JSON_TYPE, '{"lock":"jobs"}');
    look = () => {
      throw new AuthorityError('nobody answers');
    };
    await put(57, '/v1/buckets/bound/keys/k');
    engine.failNext();
    await put(58);
    const found = await samples();
    const refusals = [...found].filter(([name]) => name.startsWith('fenced_kv_refusals_total'));
    expect(new Map(refusals)).toEqual(
      new Map([
        ['fenced_kv_refusals_total{code="STALE_TOKEN"}', 2],
        ['fenced_kv_refusals_total{code="UNSUPPORTED_MEDIA_TYPE"}', 1],
        ['fenced_kv_refusals_total{code="BUCKET_NOT_FOUND"}', 1],
        ['fenced_kv_refusals_total{code="NOT_FOUND"}', 1],
        ['fenced_kv_refusals_total{code="METHOD_NOT_ALLOWED"}', 1],
        ['fenced_kv_refusals_total{code="ORIGIN_REFUSED"}', 1],
        ['fenced_kv_refusals_total{code="HOST_REFUSED"}', 1],
        ['fenced_kv_refusals_total{code="ENSEMBLE_UNREACHABLE"}', 1],
        ['fenced_kv_refusals_total{code="DISK_ERROR"}', 1],
      ]),
    );
  });

  it('time answers by the clock', async () => {
    await put(57);
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull(controller) {
          now += 200;
          controller.enqueue(new Uint8Array(1));
          controller.close();
        },
      },
      // Not asked before somebody reads.
      { highWaterMark: 0 },
    );
    const init = { method: 'PUT', headers: { ...OCTETS, 'fencing-token': '57' }, body, duplex: 'half' as const };
    await handler(new Request(`${ORIGIN}${KEY}`, init));
    const found = await samples();
    const atMost = (bound: string): number | undefined =>
      [...found].find(
        ([name]) => name.startsWith('fenced_kv_request_seconds_bucket{') && name.includes(`le="${bound}"`),
      )?.[1];
    expect([atMost('0.1'), atMost('0.25')]).toEqual([1, 2]);
  });

  it('show buckets, also those of before the start, and what the engine has committed', async () => {
    expect((await samples()).get('fenced_kv_buckets')).toBe(0);
    await put(57);
    await put(57);
    await send('PUT', '/v1/buckets/made', JSON_TYPE, '{"tokens":"optional"}');
    await send('PUT', '/v1/buckets/made', JSON_TYPE, '{"tokens":"optional"}');
    await send('POST', '/v1/buckets/installed/fence', JSON_TYPE, '{"token":3}');
    // Nothing makes these: a refused write, and a condition that does not hold under a floor of 0.
    await send('PUT', '/v1/buckets/refused/keys/k', OCTETS, 'value');
    const unmet = { ...OCTETS, 'fencing-token': '3', 'fencing-floor': '0', 'if-match': '"9"' };
    await send('PUT', '/v1/buckets/unmet/keys/k', unmet, 'value');
    const before = await samples();
    expect(before.get('fenced_kv_buckets')).toBe(3);
    expect(before.get('fenced_kv_commits_waiting')).toBe(0);
    expect(before.get('fenced_kv_commit_groups_total')).toBe(engine.groups);
    await put(57);
    const after = await samples();
    const commits = (found: ReadonlyMap<string, number>): number => found.get('fenced_kv_commits_total') ?? NaN;
    expect(commits(after) - commits(before)).toBe(1);
    await open();
    expect((await samples()).get('fenced_kv_buckets')).toBe(3);
  });

  it('show followers while they are there, and looks at the ensemble', async () => {
    await send('PUT', '/v1/buckets/bound', JSON_TYPE, '{"lock":"jobs"}');
    await put(57, '/v1/buckets/bound/keys/k');
    look = () => {
      throw new AuthorityError('nobody answers');
    };
    await put(58, '/v1/buckets/bound/keys/k');
    const following = await handler(new Request(`${ORIGIN}/v1/buckets/bound/changes`));
    const during = await samples();
    expect(during.get('fenced_kv_followers')).toBe(1);
    expect(during.get('fenced_kv_history_bytes')).toBeGreaterThan(0);
    expect(during.get('fenced_kv_looks_total{outcome="answered"}')).toBe(1);
    expect(during.get('fenced_kv_looks_total{outcome="failed"}')).toBe(1);
    await following.body?.cancel();
    expect((await samples()).get('fenced_kv_followers')).toBe(0);
  });

  it('show what is in memory of a body, and a large value on its way', async () => {
    await put(57);
    let rest = (): void => {};
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(new Uint8Array(1024 * 1024 + 1));
        rest = () => controller.close();
      },
    });
    const init = { method: 'PUT', headers: { ...OCTETS, 'fencing-token': '57' }, body, duplex: 'half' as const };
    const sent = Promise.resolve(handler(new Request(`${ORIGIN}${KEY}`, init)));
    let during = await samples();
    for (let turn = 0; turn < 100 && during.get('fenced_kv_uploads') !== 1; turn += 1) during = await samples();
    expect(during.get('fenced_kv_uploads')).toBe(1);
    expect(during.get('fenced_kv_held_bytes')).toBeGreaterThan(0);
    rest();
    expect((await sent).status).toBe(204);
    const after = await samples();
    expect([after.get('fenced_kv_uploads'), after.get('fenced_kv_held_bytes')]).toEqual([0, 0]);
  });

  it('are rendered once for all who ask within a second', async () => {
    const page = async (): Promise<string> => await (await handler(new Request(`${ORIGIN}/metrics`))).text();
    const first = await page();
    await put(57);
    now += METRICS_MAX_AGE_MS - 1;
    expect(await page()).toBe(first);
    now += 1;
    expect(await page()).not.toBe(first);
  });

  it('are all in the document, and no others', async () => {
    // A replica has those of every store, and its own.
    const group = {
      group: 'orders',
      replica: 'r1',
      role: 'replica',
      epoch: 0,
      primary: null,
      inSync: [],
      lastIndex: 0,
      committedIndex: 0,
      copying: false,
    } as const;
    const source = {
      group,
      present: () => {
        throw new NotPrimaryError(group);
      },
    };
    const hosts = hostPolicy('127.0.0.1');
    handler = createHttpHandler({ store: source, hosts }, { logger: silentLogger });
    const response = await handler(new Request(`${ORIGIN}/metrics`));
    const types = (await response.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm);
    const served = [...types].map(([, name, type]) => `${name} ${type}`);
    const rows = readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(fenced_kv_\w+)` \| (\w+) \|/gm);
    const described = [...rows].map(([, name, type]) => `${name} ${type}`);
    expect(new Set(described)).toEqual(new Set(served));
    expect(served.length).toBeGreaterThan(5);
  });
});

describe('the route of a path', () => {
  it.each([
    ['/health', '/health'],
    ['/metrics', '/metrics'],
    ['/openapi.json', '/openapi.json'],
    ['/', 'other'],
    ['/v1/buckets', 'other'],
    ['/v1/buckets/', 'other'],
    ['/v2/buckets/b', 'other'],
    ['/v1/buckets/b', '/v1/buckets/{bucket}'],
    ['/v1/buckets/b/fence', '/v1/buckets/{bucket}/fence'],
    ['/v1/buckets/b/batch', '/v1/buckets/{bucket}/batch'],
    ['/v1/buckets/b/changes', '/v1/buckets/{bucket}/changes'],
    ['/v1/buckets/b/keys', '/v1/buckets/{bucket}/keys'],
    ['/v1/buckets/b/keys/k', '/v1/buckets/{bucket}/keys/{key}'],
    ['/v1/buckets/b/fence/k', 'other'],
    ['/v1/buckets/b/anything', 'other'],
    ['/v1/buckets/b/keys/k/l', 'other'],
  ])('%s has no name of a client in it', (path, route) => {
    expect(routeOf(path)).toBe(route);
  });
});
