/** What a running fenced-kvd says of itself over its socket: the metrics that the document lists, and the document of its interface. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { FencedKv, StaleTokenError } from '@holdfast/fenced-kv-client';
import { METRICS_MAX_AGE_MS } from '../../src/limits.ts';
import { serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

const DOCUMENT = fileURLToPath(new URL('../../../../docs/fenced-kv.md', import.meta.url));

let directory: string;

eachInDirectory((made) => {
  directory = made;
});

/** By name and labels, of a page that is newer than what was done before the call. */
async function samples(url: string): Promise<ReadonlyMap<string, number>> {
  await new Promise((resolve) => setTimeout(resolve, METRICS_MAX_AGE_MS));
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

describe('the metrics of a running fenced-kvd', () => {
  it('count what it was asked, show what it has, and are those of the document and of the process', async () => {
    const data = join(directory, 'data');
    const first = await serve(data);
    const bucket = await new FencedKv(first.url).bucket('accounts').fencedBy({ token: 57 });
    for (let write = 0; write < 5; write += 1) await bucket.put('secret-name', `${write}`);
    const late = new FencedKv(first.url).bucket('accounts').fencedBy({ token: 41 });
    await expect(late).rejects.toBeInstanceOf(StaleTokenError);
    const following = await fetch(`${first.url}/v1/buckets/accounts/changes`);

    const found = await samples(first.url);
    const puts = 'method="PUT",route="/v1/buckets/{bucket}/keys/{key}",status="204"';
    expect(found.get(`fenced_kv_requests_total{${puts}}`)).toBe(5);
    expect(found.get('fenced_kv_refusals_total{code="STALE_TOKEN"}')).toBe(1);
    expect(found.get('fenced_kv_buckets')).toBe(1);
    expect(found.get('fenced_kv_followers')).toBe(1);
    expect(found.get('fenced_kv_commits_total')).toBeGreaterThanOrEqual(6);
    expect(found.get('fenced_kv_commit_groups_total')).toBeGreaterThanOrEqual(6);
    expect(found.get('fenced_kv_history_bytes')).toBeGreaterThan(0);
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(0);
    const served = [...found.keys()];
    expect(served.filter((name) => name.includes('secret-name') || name.includes('accounts'))).toEqual([]);
    // Those of a group are of replicas only.
    expect(served.filter((name) => name.startsWith('fenced_kv_group'))).toEqual([]);
    const described = readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(fenced_kv_(?!group_)\w+)` \|/gm);
    for (const [, name = ''] of described)
      expect(
        served.some((each) => each.startsWith(name)),
        name,
      ).toBe(true);

    await following.body?.cancel();
    // One that has gone is noticed when it is to be told something: of a change, or at the next heartbeat.
    const followers = async (): Promise<number | undefined> => {
      await bucket.put('secret-name', 'again');
      return (await samples(first.url)).get('fenced_kv_followers');
    };
    await expect.poll(followers, { timeout: 60_000 }).toBe(0);
    await first.stop('SIGKILL');
    const second = await serve(data);
    const again = await samples(second.url);
    expect([again.get('fenced_kv_buckets'), again.has(`fenced_kv_requests_total{${puts}}`)]).toEqual([1, false]);
    await second.stop('SIGTERM');
  });
});

describe('the OpenAPI document of a running fenced-kvd', () => {
  it('is served, with every path that it takes', async () => {
    const server = await serve(join(directory, 'data'));
    const response = await fetch(`${server.url}/openapi.json`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    const document = (await response.json()) as { readonly openapi: string; readonly paths: object };
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(Object.keys(document.paths)).toContain('/v1/buckets/{bucket}/keys/{key}');
    await server.stop('SIGTERM');
  });
});
