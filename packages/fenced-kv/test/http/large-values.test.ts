import { silentLogger } from '@holdfast/runtime';
import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import type { ValueChunks } from '../../src/keys/large-values.ts';
import { BodyReader } from '../../src/http/body-reader.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import type { HttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { streamValue } from '../../src/http/value-stream.ts';
import { MAX_INLINE_VALUE_BYTES, MAX_VALUE_BYTES, VALUE_CHUNK_BYTES } from '../../src/limits.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const KEY = 'http://127.0.0.1:7400/v1/buckets/b/keys/k';
const OCTETS = { 'content-type': 'application/octet-stream' };

let map: SortedMap;
let handler: HttpHandler;

beforeEach(async () => {
  map = new SortedMap();
  const store = await FencedStore.open(memoryEngine(map));
  handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
});

function valueOf(bytes: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: bytes }, (_, index) => (index * 31 + (index >>> 16)) & 0xff);
}

async function put(
  body: Uint8Array<ArrayBuffer> | ReadableStream,
  headers: Record<string, string> = {},
): Promise<Response> {
  const init = {
    method: 'PUT',
    headers: { ...OCTETS, 'fencing-token': '5', ...headers },
    body,
    duplex: 'half' as const,
  };
  return await handler(new Request(KEY, init));
}

function chunksStored(): number {
  return map.entries().filter(({ key }) => key[0] === 5).length;
}

/** In pieces of an awkward length. */
function streamOf(value: Uint8Array, fail = false): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (fail && at > value.length / 2) controller.error(new Error('the client went away'));
      else if (at >= value.length) controller.close();
      else controller.enqueue(value.slice(at, (at += 100_003)));
    },
  });
}

describe('PUT of a large value', () => {
  it.each([MAX_INLINE_VALUE_BYTES, MAX_INLINE_VALUE_BYTES + 1, 5_000_000, MAX_VALUE_BYTES])(
    'of %s bytes is read back as it was, with and without a declared length',
    async (bytes) => {
      const value = valueOf(bytes);
      for (const declared of [true, false]) {
        const sent = declared ? await put(value, { 'content-length': String(bytes) }) : await put(streamOf(value));
        expect(sent.status).toBe(204);
        const read = await handler(new Request(KEY));
        expect([read.status, read.headers.get('etag')]).toEqual([200, sent.headers.get('etag')]);
        expect(Buffer.compare(new Uint8Array(await read.arrayBuffer()), value)).toBe(0);
      }
      const chunks = bytes > MAX_INLINE_VALUE_BYTES ? Math.ceil(bytes / VALUE_CHUNK_BYTES) : 0;
      await expect.poll(chunksStored).toBe(chunks);
    },
  );

  it('that is refused at its end, or breaks off, leaves nothing behind', async () => {
    const value = valueOf(3_000_000);
    const refused = await put(streamOf(value), { 'if-match': '"7"' });
    expect([refused.status, chunksStored()]).toEqual([412, 0]);
    await put(streamOf(value, true)).catch(() => undefined);
    expect(chunksStored()).toBe(0);
    expect((await handler(new Request(KEY))).status).toBe(404);
  });

  it('beyond the limit is answered 413, and leaves nothing behind', async () => {
    const sent = await put(streamOf(valueOf(MAX_VALUE_BYTES + 1)));
    expect([sent.status, chunksStored()]).toEqual([413, 0]);
    const declared = await put(streamOf(valueOf(10)), { 'content-length': String(MAX_VALUE_BYTES + 1) });
    expect(declared.status).toBe(413);
  });

  it('under a stale token ends when it turns out to be large', async () => {
    await put(new Uint8Array(1), { 'fencing-token': '9' });
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(VALUE_CHUNK_BYTES));
      },
    });
    expect((await put(body)).status).toBe(412);
    expect(pulled).toBeLessThan(10);
    expect(chunksStored()).toBe(0);
  });
});

describe('GET of a large value', () => {
  it('whose condition does not hold reads nothing, and keeps no value from being removed', async () => {
    const sent = await put(valueOf(2_000_000));
    const headers = { 'if-none-match': sent.headers.get('etag') ?? '' };
    expect((await handler(new Request(KEY, { headers }))).status).toBe(304);
    expect((await handler(new Request(KEY, { headers: { 'if-match': '"99"' } }))).status).toBe(412);
    expect((await put(new Uint8Array(1))).status).toBe(204);
    await expect.poll(chunksStored).toBe(0);
  });

  it('goes on while the key is overwritten, and lets go of the value at its end', async () => {
    const value = valueOf(2_000_000);
    await put(value);
    const read = await handler(new Request(KEY));
    await put(new Uint8Array(1));
    expect(chunksStored()).toBeGreaterThan(0);
    expect(Buffer.compare(new Uint8Array(await read.arrayBuffer()), value)).toBe(0);
    await expect.poll(chunksStored).toBe(0);
  });

  it('that the client gives up lets go of the value', async () => {
    await put(valueOf(2_000_000));
    const read = await handler(new Request(KEY));
    await put(new Uint8Array(1));
    await read.body?.cancel();
    await expect.poll(chunksStored).toBe(0);
  });
});

describe('the stream of a value', () => {
  let closed: number;
  let read: number;
  let chunks: ValueChunks;

  beforeEach(() => {
    closed = 0;
    read = 0;
    chunks = {
      bytes: 10 * VALUE_CHUNK_BYTES,
      chunk(index) {
        read += 1;
        return index < 10 ? new Uint8Array(VALUE_CHUNK_BYTES) : undefined;
      },
      close: () => (closed += 1),
    };
  });

  it('reads no more than a chunk ahead of its client', async () => {
    const bodies = new BodyReader();
    const reader = streamValue(chunks, { hold: bodies.hold(), failed: () => {} }).getReader();
    for (let taken = 1; taken <= 10; taken += 1) {
      await reader.read();
      expect(read).toBeLessThanOrEqual(taken + 1);
      expect(bodies.heldBytes).toBe(taken < 10 ? 2 * VALUE_CHUNK_BYTES : bodies.heldBytes);
    }
    expect((await reader.read()).done).toBe(true);
    expect([bodies.heldBytes, closed]).toEqual([0, 1]);
  });

  it('ends when its client takes nothing for a while', async () => {
    const bodies = new BodyReader();
    const reader = streamValue(chunks, { hold: bodies.hold(), failed: () => {}, chunkTimeoutMs: 10 }).getReader();
    await expect.poll(() => closed).toBe(1);
    expect(bodies.heldBytes).toBe(0);
    await expect(reader.read()).rejects.toThrow('no chunk of the value was taken for 10 ms');
  });

  it('is refused where all memory for values is taken, and the value let go of', () => {
    const bodies = new BodyReader({ maxHeldBytes: 3 * VALUE_CHUNK_BYTES, reservedBytes: 0 });
    streamValue(chunks, { hold: bodies.hold(), failed: () => {} });
    expect(() => streamValue(chunks, { hold: bodies.hold(), failed: () => {} })).toThrow('try again later');
    expect(closed).toBe(1);
  });

  it('tells of damage, and breaks off', async () => {
    const failures: unknown[] = [];
    const broken = {
      ...chunks,
      chunk: () => {
        throw new Error('damaged');
      },
    };
    const reader = streamValue(broken, {
      hold: new BodyReader().hold(),
      failed: (error) => failures.push(error),
    }).getReader();
    await expect(reader.read()).rejects.toThrow('damaged');
    expect([failures.length, closed]).toEqual([1, 1]);
  });
});
