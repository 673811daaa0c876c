/** What a replica of a group answers over HTTP: as its primary, and while another one is. */

import { silentLogger } from '@holdfast/runtime';
import { beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../../src/engines/engine-error.ts';
import { FencedStore } from '../../../src/fenced-store.ts';
import { createHttpHandler, type HttpHandler } from '../../../src/http/handler.ts';
import { NotPrimaryError, type GroupFacts, type StoreSource } from '../../../src/http/store-source.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const ORIGIN = 'http://127.0.0.1:7400';
const OCTETS = { 'content-type': 'application/octet-stream' };
const OTHER = { replica: 'r2', url: 'http://10.0.0.2:7400' };

class Replica implements StoreSource {
  facts: GroupFacts = {
    group: 'orders',
    replica: 'r1',
    role: 'primary',
    epoch: 57,
    primary: { replica: 'r1', url: ORIGIN },
    inSync: ['r1', 'r2'],
    lastIndex: 12,
    committedIndex: 11,
    copying: false,
  };
  confirmed = 0;
  confirm: () => Promise<void> = async () => {};
  readonly #store: FencedStore;

  constructor(store: FencedStore) {
    this.#store = store;
  }

  get group(): GroupFacts {
    return this.facts;
  }

  present(): ReturnType<StoreSource['present']> {
    if (this.facts.role !== 'primary') throw new NotPrimaryError(this.facts);
    const confirm = async (): Promise<void> => {
      this.confirmed += 1;
      await this.confirm();
    };
    return { store: this.#store, epoch: this.facts.epoch, confirm };
  }

  supersededBy(primary: GroupFacts['primary'], epoch: number): void {
    this.facts = { ...this.facts, role: 'replica', primary, epoch };
  }
}

let replica: Replica;
let handler: HttpHandler;

beforeEach(async () => {
  replica = new Replica(await FencedStore.open(memoryEngine()));
  const hosts = { names: ['127.0.0.1'], anyAddress: false };
  handler = createHttpHandler({ store: replica, hosts }, { logger: silentLogger });
});

async function ask(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  return await handler(new Request(`${ORIGIN}${path}`, { method, ...init }));
}

async function put(value: string, headers: Record<string, string> = {}): Promise<Response> {
  return await ask('PUT', '/v1/buckets/b/keys/k', {
    body: value,
    headers: { ...OCTETS, 'fencing-token': '5', ...headers },
  });
}

describe('a primary', () => {
  it('tells its epoch with every answer, refusals too', async () => {
    const answers = [
      await put('v'),
      await ask('GET', '/v1/buckets/b/keys/k'),
      await ask('GET', '/v1/buckets/b/keys/none'),
      await put('late', { 'fencing-token': '4' }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('group-epoch')])).toEqual([
      [204, '57'],
      [200, '57'],
      [404, '57'],
      [412, '57'],
    ]);
  });

  it('asks the group before each read, and not before a write', async () => {
    await put('v');
    expect(replica.confirmed).toBe(0);
    for (const path of ['/v1/buckets/b', '/v1/buckets/b/keys', '/v1/buckets/b/keys/k']) await ask('GET', path);
    await ask('HEAD', '/v1/buckets/b/keys/k');
    expect(replica.confirmed).toBe(4);
  });

  it('reads what is there when the group has answered', async () => {
    await put('old');
    replica.confirm = async () => {
      replica.confirm = async () => {};
      await put('new');
    };
    expect(await (await ask('GET', '/v1/buckets/b/keys/k')).text()).toBe('new');
  });

  it('gives no read where the group does not confirm its epoch', async () => {
    await put('v');
    replica.confirm = async () => {
      replica.supersededBy(OTHER, 61);
      return await Promise.reject(new EngineError('CLOSED', 'not the primary any more'));
    };
    const answer = await ask('GET', '/v1/buckets/b/keys/k');
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 503,
      body: { code: 'NOT_PRIMARY', primary: OTHER, epoch: 61, indeterminate: false },
    });
  });

  it('refuses a client that was answered in a later epoch', async () => {
    const answer = await put('v', { 'group-epoch': '58' });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 503,
      body: { code: 'NOT_PRIMARY', primary: null, indeterminate: false },
    });
    expect((await ask('GET', '/v1/buckets/b/keys/k')).status).toBe(404);
    expect((await put('v', { 'group-epoch': '57' })).status).toBe(204);
  });

  it.each(['x', '-1', '1.5', '9007199254740992', '99999999999999999'])('refuses the epoch %s', async (epoch) => {
    const answer = await put('v', { 'group-epoch': epoch });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { code: 'INVALID_ARGUMENT', argument: 'Group-Epoch' },
    });
  });
});

describe('a replica that is not the primary', () => {
  it('names the one that is, whatever it is asked', async () => {
    replica.supersededBy(OTHER, 61);
    for (const answer of [
      await put('v'),
      await ask('GET', '/v1/buckets/b'),
      await ask('DELETE', '/v1/buckets/b/keys/k'),
    ]) {
      expect(answer.headers.get('retry-after')).toBe('1');
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({
        status: 503,
        body: { code: 'NOT_PRIMARY', primary: OTHER, epoch: 61, indeterminate: false },
      });
    }
  });

  it('says so where it knows of none', async () => {
    replica.supersededBy(null, 0);
    expect(await (await put('v')).json()).toMatchObject({ code: 'NOT_PRIMARY', primary: null, epoch: 0 });
  });

  it('answers for its health and its metrics all the same', async () => {
    replica.supersededBy(OTHER, 61);
    const health = await ask('GET', '/health');
    expect({ status: health.status, body: await health.json() }).toEqual({
      status: 200,
      body: { status: 'ok', serving: false, ...replica.facts },
    });
    const metrics = await (await ask('GET', '/metrics')).text();
    expect(metrics).toContain('fenced_kv_group_serving 0');
    expect(metrics).toContain('fenced_kv_group_epoch 61');
    expect(metrics).toContain('fenced_kv_group_in_sync 2');
    expect(metrics).toContain('fenced_kv_group_committed_index 11');
    expect(metrics).toContain('fenced_kv_refusals_total');
  });

  it('tells a client that writes on whether the write may have happened', async () => {
    const store = await FencedStore.open(memoryEngine());
    const ended = new EngineError('CLOSED', 'not the primary any more', { indeterminate: true });
    store.write = async () => await Promise.reject(ended);
    const failing = new Replica(store);
    const hosts = { names: ['127.0.0.1'], anyAddress: false };
    handler = createHttpHandler({ store: failing, hosts }, { logger: silentLogger });
    expect(await (await put('v')).json()).toMatchObject({ code: 'NOT_PRIMARY', indeterminate: true });
  });
});

describe('a store of no group', () => {
  it('tells no epoch, and takes no notice of one', async () => {
    const store = await FencedStore.open(memoryEngine());
    const hosts = { names: ['127.0.0.1'], anyAddress: false };
    handler = createHttpHandler({ store, hosts }, { logger: silentLogger });
    const answer = await put('v', { 'group-epoch': '58' });
    expect([answer.status, answer.headers.get('group-epoch')]).toEqual([204, null]);
    expect(await (await ask('GET', '/health')).json()).toEqual({ status: 'ok' });
    expect(await (await ask('GET', '/metrics')).text()).not.toContain('fenced_kv_group');
  });
});
