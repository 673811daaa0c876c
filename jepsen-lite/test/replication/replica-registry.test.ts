import type { Client } from '@holdfast/client';
import { ConfigurationError, ReplicaIdTakenError, ReplicaRegistry } from '@holdfast/fenced-kv/test/replication';
import { testEnsemble, type TestEnsemble } from '@holdfast/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const DIRECTORY = '0123456789abcdef0123456789abcdef';
const URL_OF_R1 = 'http://10.0.0.1:7400';

let ensemble: TestEnsemble;
let client: Client;
let groups = 0;

beforeAll(async () => {
  ensemble = await testEnsemble({ servers: 1 });
  client = await ensemble.connect();
});

afterAll(async () => {
  await ensemble.close();
});

function newRegistry(): { readonly registry: ReplicaRegistry; readonly path: string } {
  groups += 1;
  const group = `registry-${groups}`;
  return { registry: new ReplicaRegistry(client.nodes, group), path: `/fenced-kv/${group}/replicas/r1` };
}

describe('the replicas of a group in the ensemble', () => {
  it('are found by their ids, each with its address', async () => {
    const { registry } = newRegistry();
    expect(await registry.find('r1')).toBeUndefined();
    await registry.register('r1', { directory: DIRECTORY, url: URL_OF_R1 });
    expect(await registry.find('r1')).toEqual({ directory: DIRECTORY, url: URL_OF_R1 });
  });

  it('may come again, under another address too', async () => {
    const { registry } = newRegistry();
    for (const url of [URL_OF_R1, URL_OF_R1, 'http://10.0.0.9:7400']) {
      await registry.register('r1', { directory: DIRECTORY, url });
      expect((await registry.find('r1'))?.url).toBe(url);
    }
  });

  it('give an id to one directory only', async () => {
    const { registry } = newRegistry();
    await registry.register('r1', { directory: DIRECTORY, url: URL_OF_R1 });
    const other = registry.register('r1', { directory: 'f'.repeat(32), url: URL_OF_R1 });
    await expect(other).rejects.toBeInstanceOf(ReplicaIdTakenError);
    expect(await registry.find('r1')).toEqual({ directory: DIRECTORY, url: URL_OF_R1 });
  });

  it('give it to one of two that ask at once', async () => {
    const { registry } = newRegistry();
    const directories = [DIRECTORY, 'f'.repeat(32)];
    const asked = directories.map(async (directory) => await registry.register('r1', { directory, url: URL_OF_R1 }));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it.each(['x', '[]', '{"format":2}', '{"format":1,"directory":1,"url":"u"}', '{"format":1,"directory":"d"}'])(
    'are refused where the node holds %s',
    async (text) => {
      const { registry, path } = newRegistry();
      await registry.register('r1', { directory: DIRECTORY, url: URL_OF_R1 });
      await client.nodes.set(path, text);
      await expect(registry.find('r1')).rejects.toThrow(ConfigurationError);
      await expect(registry.register('r1', { directory: DIRECTORY, url: URL_OF_R1 })).rejects.toThrow(path);
    },
  );

  it('are not written where they could not be read again', async () => {
    const { registry } = newRegistry();
    const long = { directory: DIRECTORY, url: `http://${'x'.repeat(600)}` };
    await expect(registry.register('r1', long)).rejects.toThrow(ConfigurationError);
    expect(await registry.find('r1')).toBeUndefined();
  });
});
