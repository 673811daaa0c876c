import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, describe, expect, it } from 'vitest';
import { connect, ConnectionError, type Client } from '../src/index.ts';
import { FakeEnsemble, type FakeHost } from './support/fake-ensemble.ts';

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(): Promise<{ readonly ensemble: FakeEnsemble; readonly client: Client }> {
  const runtime = nodeRuntime({ logger: silentLogger });
  const ensemble = await FakeEnsemble.start<FakeHost>({
    host: () => ({ address: '127.0.0.1:0', runtime }),
    soon: (run) => runtime.clock.afterPoll(run),
  });
  stops.push(async () => {
    for (const server of ensemble.servers) await server.stop();
  });
  const client = await connect({ servers: ensemble.addresses, label: 'test' });
  stops.push(() => client.close());
  return { ensemble, client };
}

describe('over real sockets', () => {
  it('a client takes, hands over and gives back locks, and works with nodes', async () => {
    const { ensemble, client } = await start();
    expect(client.status()).toMatchObject({ state: 'connected', leader: 1, server: { id: 1 } });
    const tokens: number[] = [];
    await Promise.all(Array.from({ length: 20 }, () => client.lock('a').withLock((held) => tokens.push(held.token))));
    expect(tokens).toEqual(tokens.toSorted((left, right) => left - right));
    expect(new Set(tokens).size).toBe(20);
    await client.nodes.create('/n', 'text');
    expect(new TextDecoder().decode((await client.nodes.get('/n')).data)).toBe('text');
    await client.close();
    await expect.poll(() => ensemble.sessions.size).toBe(0);
  });

  it('goes on when the server that it is attached to closes', async () => {
    const { ensemble, client } = await start();
    const held = await client.lock('a').acquire();
    ensemble.leader = 2;
    await ensemble.server(1).stop();
    await held.verify();
    await held.release();
    expect(client.status().server?.id).not.toBe(1);
  });

  it('says that nothing listens', async () => {
    const { ensemble } = await start();
    const [address = ''] = ensemble.addresses;
    await ensemble.server(1).stop();
    const error: unknown = await connect({ servers: [address], connectTimeoutMs: 300 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toContain(address);
  });
});
