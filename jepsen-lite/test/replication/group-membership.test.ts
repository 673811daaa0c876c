import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Client } from '@holdfast/client';
import { FencedStore, openJournalEngine } from '@holdfast/fenced-kv';
import {
  EnsembleConfiguration,
  GroupMembership,
  ReplicaNode,
  ReplicaStore,
} from '@holdfast/fenced-kv/test/replication';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { testEnsemble, type TestEnsemble } from '@holdfast/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { freePorts } from './support/free-ports.ts';

const IDS = ['r1', 'r2', 'r3'] as const;
const SECRET = new TextEncoder().encode('a secret of the group');
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Member {
  end: () => Promise<void>;
  store: FencedStore | undefined;
  client: Client | undefined;
  giveUp: () => void;
}

let ensemble: TestEnsemble;
let members: Map<string, Member>;
let ports: readonly number[];
let directory: string;
const runtime = nodeRuntime({ logger: silentLogger });

beforeEach(async () => {
  ensemble = await testEnsemble({ servers: 1 });
  ports = await freePorts(IDS.length);
  const operator = await ensemble.connect();
  await new EnsembleConfiguration(operator.nodes, 'orders').create(IDS);
  members = new Map();
  directory = await mkdtemp(join(tmpdir(), 'replicas-'));
  for (const id of IDS) await start(id);
});

afterEach(async () => {
  for (const id of IDS) await end(id);
  await ensemble.close();
  await rm(directory, { recursive: true, force: true });
});

async function start(id: string): Promise<void> {
  const engine = await openJournalEngine(join(directory, id), runtime);
  const member: Member = {
    end: async () => await engine.close(),
    store: undefined,
    client: undefined,
    giveUp() {},
  };
  members.set(id, member);
  const membership = new GroupMembership({
    ...runtime,
    group: 'orders',
    connect: async () => {
      member.client = await ensemble.connect();
      return member.client;
    },
  });
  member.giveUp = () => membership.giveUp();
  const addressOf = (each: string): string => `127.0.0.1:${ports[IDS.findIndex((known) => known === each)]}`;
  const peers = new Map(IDS.filter((each) => each !== id).map((each) => [each, addressOf(each)]));
  const store = await ReplicaStore.open(engine, () => id);
  const node = await ReplicaNode.open(
    { group: 'orders', listen: addressOf(id), peers, secret: SECRET, removalMs: 300 },
    {
      ...runtime,
      engine,
      store,
      configuration: membership,
      serving: (_epoch, primary) => {
        FencedStore.open(primary).then(
          (opened) => {
            member.store = opened;
          },
          () => {},
        );
      },
      steppedDown: (epoch, reason) => {
        member.store = undefined;
        membership.steppedDown(epoch, reason);
      },
      failed: (error) => {
        throw error;
      },
    },
  );
  member.end = async () => {
    await node.close();
    await membership.stop();
    await engine.close();
  };
  membership.start(node);
}

async function end(id: string): Promise<void> {
  const member = members.get(id);
  members.delete(id);
  await member?.end();
}

async function primary(except?: string): Promise<readonly [id: string, store: FencedStore]> {
  for (;;) {
    for (const [id, { store }] of members) if (store !== undefined && id !== except) return [id, store];
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('replicas of a group that meet in an ensemble', () => {
  it('elect one of them, and another one when it has gone, which has what was acknowledged', async () => {
    const [first, before] = await primary();
    await before.write('b', [{ key: 'k', value: bytes('v') }], { token: 41 });
    await end(first);
    const [, after] = await primary(first);
    expect(new TextDecoder().decode(after.get('b', 'k').value)).toBe('v');
    await expect(after.write('b', [{ key: 'k', value: bytes('late') }], { token: 40 })).rejects.toMatchObject({
      refusal: { code: 'STALE_TOKEN' },
    });
  });

  it('elect another one when the primary lets it have the lock', async () => {
    const [first, before] = await primary();
    await before.write('b', [{ key: 'k', value: bytes('v') }], { token: 41 });
    members.get(first)?.giveUp();
    const [, after] = await primary(first);
    expect(new TextDecoder().decode(after.get('b', 'k').value)).toBe('v');
    await expect(before.write('b', [{ key: 'k', value: bytes('late') }], { token: 41 })).rejects.toThrow();
  });

  it('elect one again when the session of the primary has expired', async () => {
    const [first, before] = await primary();
    await before.write('b', [{ key: 'k', value: bytes('v') }], { token: 41 });
    const expired = members.get(first)?.client;
    if (expired === undefined) throw new Error('the primary has a session');
    await ensemble.expire(expired);
    const isOver = async (): Promise<boolean> =>
      await before.write('b', [{ key: 'other', value: bytes('w') }], { token: 41 }).then(
        () => false,
        () => true,
      );
    while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 20));
    const [, after] = await primary();
    expect(new TextDecoder().decode(after.get('b', 'k').value)).toBe('v');
  });
});
