import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { answer, callsOf, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';

let http: HttpCalls;

beforeEach(async () => {
  http = callsOf(await FencedStore.open(memoryEngine()));
});

describe('POST of a batch', () => {
  it('writes all under one token and one revision', async () => {
    const response = await http.batch({
      writes: [
        { op: 'put', key: 'text', value: 'é' },
        { op: 'put', key: 'bytes', valueBase64: 'AAEC', ifRevision: null },
        { op: 'delete', key: 'none' },
      ],
    });
    expect(await answer(response)).toEqual([200, { revision: 1 }]);
    expect(response.headers.get('etag')).toBe('"1"');
    const read = await http.send('GET', '/v1/buckets/accounts/keys/bytes');
    expect([...new Uint8Array(await read.arrayBuffer())]).toEqual([0, 1, 2]);
  });

  it('writes nothing where one write is refused', async () => {
    await http.put(KEY, 'value', 57);
    const writes = [
      { op: 'put', key: 'x', value: '1' },
      { op: 'delete', key: '42', ifRevision: 9 },
    ];
    expect(await answer(await http.batch({ writes }))).toMatchObject([
      412,
      { code: 'PRECONDITION_FAILED', key: '42', revision: 1 },
    ]);
    expect(await answer(await http.batch({ writes }, 41))).toMatchObject([412, { code: 'STALE_TOKEN' }]);
    expect((await http.send('GET', '/v1/buckets/accounts/keys/x')).status).toBe(404);
  });

  it.each([
    [{}],
    [{ writes: {} }],
    [{ writes: [] }],
    [{ writes: [{ op: 'put', key: 'k' }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', valueBase64: 'AA==' }] }],
    [{ writes: [{ op: 'put', key: 'k', valueBase64: 'A' }] }],
    [{ writes: [{ op: 'put', key: 7, value: '1' }] }],
    [{ writes: [{ op: 'delete', key: 'k', value: '1' }] }],
    [{ writes: [{ op: 'increment', key: 'k' }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', ifrevision: 3 }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', ifRevision: '3' }] }],
    [{ writes: [null] }],
    [[]],
    [null],
  ])('answers 400 to %j', async (body) => {
    expect(await answer(await http.batch(body))).toMatchObject([400, { code: 'INVALID_ARGUMENT' }]);
  });

  it('answers 415 to another type, whatever the body is', async () => {
    expect(
      (
        await http.send(
          'POST',
          '/v1/buckets/accounts/batch',
          { 'content-type': 'text/plain', 'fencing-token': '57' },
          '{}',
        )
      ).status,
    ).toBe(415);
  });
});
