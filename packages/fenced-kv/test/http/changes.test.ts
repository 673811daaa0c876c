import { silentLogger } from '@holdfast/runtime';
import { beforeEach, describe, expect, it } from 'vitest';

import { ChangeFeed } from '../../src/changes/change-feed.ts';
import type { BucketRevision } from '../../src/changes/revision.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { streamChanges } from '../../src/http/change-stream.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import type { HttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { MAX_FOLLOWERS } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const CHANGES = 'http://127.0.0.1:7400/v1/buckets/b/changes';

let now: number;
let store: FencedStore;
let handler: HttpHandler;

beforeEach(async () => {
  now = 0;
  store = await FencedStore.open(memoryEngine(), { clock: { wallMs: () => 0, monotonicMs: () => now } });
  handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
});

async function put(key: string, ttlMs?: number): Promise<void> {
  await store.write('b', [{ key, value: new Uint8Array(3), ttlMs }], { token: 1 });
}

async function follow(query = '', headers: Record<string, string> = {}): Promise<Response> {
  return await handler(new Request(`${CHANGES}${query}`, { headers }));
}

/** The next so many events of a stream, without the one at the beginning. */
async function events(response: Response, count: number): Promise<unknown[]> {
  const found: unknown[] = [];
  const decoder = new TextDecoder();
  let text = '';
  const reader = (response.body ?? new ReadableStream()).getReader();
  while (found.length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const [, id, data] = /^event: change\nid: (\d+)\ndata: (.*)$/.exec(event) ?? [];
      if (id === undefined) continue;
      const parsed = JSON.parse(data ?? '') as { revision: number };
      expect(parsed.revision).toBe(Number(id));
      found.push(parsed);
    }
  }
  await reader.cancel();
  return found;
}

describe('the changes of a bucket', () => {
  it('come in the order of its revisions: what is remembered, and what is written from then on', async () => {
    await put('a');
    await put('b');
    const following = await follow('?from=1');
    expect([following.status, following.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const seen = events(following, 3);
    await store.write(
      'b',
      [
        { key: 'a', value: undefined },
        { key: 'c', value: new Uint8Array(5) },
      ],
      { token: 1 },
    );
    await put('d');
    expect(await seen).toEqual([
      { revision: 2, changes: [{ type: 'put', key: 'b', bytes: 3 }] },
      {
        revision: 3,
        changes: [
          { type: 'delete', key: 'a' },
          { type: 'put', key: 'c', bytes: 5 },
        ],
      },
      { revision: 4, changes: [{ type: 'put', key: 'd', bytes: 3 }] },
    ]);
  });

  it('begin with what is to come where nothing is said, and behind the last event that a client has seen', async () => {
    await put('a');
    const seen = events(await follow(), 1);
    await put('b');
    expect(await seen).toMatchObject([{ revision: 2 }]);
    expect(await events(await follow('?from=0', { 'last-event-id': '1' }), 1)).toMatchObject([{ revision: 2 }]);
  });

  it('are not those of other buckets, nor refused writes', async () => {
    await put('a');
    await store.write('other', [{ key: 'k', value: new Uint8Array(1) }], { token: 9 });
    await expect(put('late', 0)).rejects.toThrow();
    await store.install('b', 7);
    await expect(put('late')).rejects.toThrow();
    await store.write('b', [{ key: 'k', value: new Uint8Array(1) }], { token: 7 });
    expect(await events(await follow('?from=0'), 2)).toMatchObject([{ revision: 1 }, { revision: 2 }]);
  });

  it('tell what has expired, once for the removal of all', async () => {
    await put('a', 10);
    await put('b', 20);
    now = 100;
    const seen = events(await follow('?from=2'), 1);
    await store.removeExpired();
    expect(await seen).toEqual([
      {
        revision: 3,
        changes: [
          { type: 'expired', key: 'a' },
          { type: 'expired', key: 'b' },
        ],
      },
    ]);
  });

  it('keep their order over writes and removals that are made durable together', async () => {
    for (let n = 0; n < 10; n += 1) await put(`k${n}`, 10);
    now = 100;
    const seen = events(await follow(), 3);
    await Promise.all([put('x'), store.removeExpired(), put('y')]);
    expect((await seen).map((event) => (event as { revision: number }).revision)).toEqual([11, 12, 13]);
  });

  it.each(['?from=-1', '?from=1.5', '?from=', '?from=x'])('are refused with 400 from %s', async (query) => {
    await put('a');
    expect((await follow(query)).status).toBe(400);
  });

  it('are refused where the bucket does not exist, and where the token does not pass', async () => {
    expect((await follow()).status).toBe(404);
    await put('a');
    expect((await follow('', { 'fencing-token': '9' })).status).toBe(428);
    expect((await handler(new Request(CHANGES, { method: 'POST' }))).status).toBe(405);
  });

  it('that are not remembered are answered 410, with what to do', async () => {
    await put('a');
    await put('b');
    const beyond = await follow('?from=3');
    expect(beyond.status).toBe(410);
    const engine = memoryEngine();
    store = await FencedStore.open(engine);
    await put('a');
    const restarted = await FencedStore.open(engine);
    handler = createHttpHandler({ store: restarted, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    const missed = await follow('?from=0');
    expect([missed.status, await missed.json()]).toMatchObject([410, { code: 'MISSED', from: 0, oldest: 1 }]);
    expect((await follow('?from=1')).status).toBe(200);
  });

  it('are not missed while the first write since the start can be read and is not yet answered', async () => {
    const map = new SortedMap();
    await (
      await FencedStore.open(memoryEngine(map))
    ).write('b', [{ key: 'a', value: new Uint8Array(1) }], { token: 1 });
    const engine = memoryEngine(map);
    store = await FencedStore.open(engine);
    handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    const release = engine.holdAnswers();
    const written = put('b');
    await expect.poll(() => store.info('b').revision).toBe(2);
    const following = await follow('?from=1');
    const present = await follow();
    release();
    await written;
    await put('c');
    expect(await events(following, 2)).toMatchObject([{ revision: 2 }, { revision: 3 }]);
    // What could be read when it began is not told as news.
    expect(await events(present, 1)).toMatchObject([{ revision: 3 }]);
  });

  it('end when the store follows nobody any more', async () => {
    await put('a');
    const response = await follow();
    const text = response.text();
    store.stopFollowing();
    expect(await text).toBe('event: from\nid: 1\ndata: {"revision":1}\n\n');
  });

  it('are followed by so many connections, and by another when one has ended', async () => {
    await put('a');
    const all: Response[] = [];
    for (let n = 0; n < MAX_FOLLOWERS; n += 1) all.push(await follow());
    const refused = await follow();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    await all[0]?.body?.cancel();
    const next = await follow();
    expect(next.status).toBe(200);
    for (const response of [...all.slice(1), next]) await response.body?.cancel();
  });
});

describe('what is remembered of changes', () => {
  const revision = (bucket: string, number: number, keys = 1): BucketRevision => {
    const changes = Array.from({ length: keys }, (_, n) => ({ type: 'delete' as const, key: `key-${n}` }));
    return { bucket, revision: number, changes };
  };

  it('is bounded for all buckets together; the oldest goes first', () => {
    const feed = new ChangeFeed(10_000);
    feed.publish(revision('quiet', 1));
    for (let n = 1; n <= 1_000; n += 1) {
      feed.publish(revision('busy', n));
      expect(feed.bytes).toBeLessThanOrEqual(10_000);
    }
    expect(feed.after('quiet', 0, 1)).toEqual({ type: 'missed', oldest: 1 });
    expect(feed.after('busy', 0, 1_000)).toMatchObject({ type: 'missed' });
    expect(feed.after('busy', 990, 1_000)).toMatchObject({ revisions: [{ revision: 991 }, ...Array(9).fill({})] });
    expect(feed.after('busy', 1_000, 1_000)).toEqual({ type: 'revisions', revisions: [] });
  });

  it('has a place for what is on its way to the disk, whatever is forgotten before that', () => {
    const feed = new ChangeFeed(1_000);
    feed.announce({ bucket: 'b', revision: 5 });
    expect(feed.after('b', 4, 5)).toEqual({ type: 'revisions', revisions: [] });
    feed.publish(revision('b', 5));
    feed.announce({ bucket: 'b', revision: 6 });
    for (let n = 1; n <= 100; n += 1) feed.publish(revision('busy', n));
    expect(feed.after('b', 5, 6)).toEqual({ type: 'revisions', revisions: [] });
    expect(feed.after('b', 4, 6)).toEqual({ type: 'missed', oldest: 5 });
    feed.publish(revision('b', 6));
    expect(feed.after('b', 5, 6)).toMatchObject({ revisions: [{ revision: 6 }] });
  });

  it('is nothing where one revision is larger than all that may be', () => {
    const feed = new ChangeFeed(1_000);
    feed.publish(revision('b', 1, 100));
    expect([feed.bytes, feed.after('b', 0, 1)]).toEqual([0, { type: 'missed', oldest: 1 }]);
  });
});

describe('a stream of changes', () => {
  const followed = (feed: ChangeFeed): Parameters<typeof streamChanges>[0] => ({
    after: (from) => feed.after('b', from, 1_000),
    onNext: (callback) => feed.onNext('b', callback),
    get closed() {
      return feed.closed;
    },
  });

  it('says now and then that it lives', async () => {
    const feed = new ChangeFeed();
    const stream = streamChanges(followed(feed), { from: 1_000, ended: () => {}, heartbeatMs: 5 });
    const reader = stream.getReader();
    await reader.read();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe(': heartbeat\n\n');
    await reader.cancel();
  });

  it('is cut where its client takes nothing, and where that is too slow for what is remembered', async () => {
    let ended = 0;
    const options = { from: 1_000, ended: () => (ended += 1), readTimeoutMs: 10 };
    const idle = streamChanges(followed(new ChangeFeed()), options).getReader();
    await expect.poll(() => ended).toBe(1);
    await expect(idle.read()).rejects.toThrow('no event was taken for 10 ms');
    const feed = new ChangeFeed(1_000);
    feed.publish({ bucket: 'b', revision: 1, changes: [] });
    const slow = streamChanges(followed(feed), { from: 0, ended: () => (ended += 1) }).getReader();
    await slow.read();
    for (let n = 2; n < 100; n += 1) feed.publish({ bucket: 'b', revision: n, changes: [] });
    const drain = async (): Promise<void> => {
      while (!(await slow.read()).done);
    };
    await expect(drain()).rejects.toThrow('too slow');
    expect(ended).toBe(2);
  });
});
