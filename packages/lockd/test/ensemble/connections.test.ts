import { PROTOCOL_VERSION, encodeClientFrame } from '@holdfast/protocol';
import type { Connection } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { MAX_CONNECTIONS_PER_ADDRESS, MAX_GREETING_BYTES } from '../../src/limits.ts';
import type { LockServerOptions } from '../../src/server.ts';
import { SimEnsemble } from './sim-ensemble.ts';

async function started(options: Partial<LockServerOptions> = {}): Promise<SimEnsemble> {
  const ensemble = new SimEnsemble(7, 1, () => {}, options);
  await ensemble.start();
  return ensemble;
}

function dial(ensemble: SimEnsemble, host: string, address = 's1:7100'): Promise<Connection> {
  const { network } = ensemble.world.host(host).runtime;
  return ensemble.complete(network.dial({ address, timeoutMs: 1_000, maxFrameBytes: 1_000_000 }));
}

const PEERS = 's1:7200';

describe('the connections of one address', () => {
  it('are 256 at most unless the setting says otherwise, and others have theirs beside them', async () => {
    for (const [most, options] of [
      [MAX_CONNECTIONS_PER_ADDRESS, {}],
      [3, { maxConnectionsPerAddress: 3 }],
    ] as const) {
      const ensemble = await started(options);
      for (let n = 0; n < most; n += 1) await dial(ensemble, 'greedy');
      await expect(dial(ensemble, 'greedy')).rejects.toMatchObject({ name: 'DialError' });
      await dial(ensemble, 'other');
    }
  });

  it('are any number from the machine itself, unless the setting says otherwise', async () => {
    const free = await started();
    for (let n = 0; n <= MAX_CONNECTIONS_PER_ADDRESS; n += 1) await dial(free, 's1');
    const bound = await started({ maxConnectionsPerAddress: 2 });
    for (let n = 0; n < 2; n += 1) await dial(bound, 's1');
    await expect(dial(bound, 's1')).rejects.toMatchObject({ name: 'DialError' });
  });
});

describe('the connections of one address to the peer port', () => {
  it('are 32 at most, so that no stranger takes the descriptors that are kept for peers', async () => {
    const ensemble = await started();
    for (let n = 0; n < 32; n += 1) await dial(ensemble, 'greedy', PEERS);
    await expect(dial(ensemble, 'greedy', PEERS)).rejects.toMatchObject({ name: 'DialError' });
    await dial(ensemble, 'other', PEERS);
  });
});

describe('a client that sends more than a hello before it is welcome', () => {
  it('is closed, and one that is welcome may send as much as fits into a frame', async () => {
    const ensemble = await started();
    const hello = { type: 'hello', version: PROTOCOL_VERSION, features: 0, clusterId: '', required: 0 } as const;
    const much = { type: 'attach', id: 1, payload: new Uint8Array(2 * MAX_GREETING_BYTES) } as const;
    const closes: string[] = [];
    const saying = async (...messages: Parameters<typeof encodeClientFrame>[0][]): Promise<number> => {
      const connection = await dial(ensemble, 'client');
      let frames = 0;
      connection.setHandler({ frame: () => (frames += 1), close: (reason) => closes.push(reason) });
      for (const each of messages) connection.send(new Uint8Array(encodeClientFrame(each)));
      await ensemble.pass(1_000);
      return frames;
    };
    expect(await saying([hello], [much])).toBeGreaterThan(0);
    expect(closes).toEqual([]);
    expect(await saying([hello, much])).toBe(0);
    expect(closes).toHaveLength(1);
  });
});
