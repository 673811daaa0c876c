import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { openClient } from '../../src/open-client.ts';
import { threadNetwork } from '../../src/heartbeat-thread/thread-network.ts';
import { nodeNetwork, nodeRuntime } from '@holdfast/runtime/node';

// Beside these sources there is no built thread: it cannot be started, as in a bundle that leaves it out. What it does is tested end to end.
describe('a heartbeat thread that cannot be started', () => {
  const network = threadNetwork(nodeNetwork({ logger: silentLogger }), { sessionTimeoutMs: 1_000, maxStallMs: 5_000 });

  it('fails each dial, and says so', async () => {
    const dial = async (): Promise<unknown> =>
      await network
        .dial({ address: '127.0.0.1:1', timeoutMs: 5_000, maxFrameBytes: 1_000 })
        .catch((error: unknown) => error);
    expect(await dial()).toMatchObject({ name: 'DialError', failure: 'failed' });
    expect(String(await dial())).toMatch(/the heartbeat thread has failed: .*heartbeat-thread\.js/);
  });

  it('is why there is no connection', async () => {
    const options = { servers: ['127.0.0.1:1'], failFast: true };
    const connecting = openClient(options, () => ({ ...nodeRuntime(), network }));
    await expect(connecting).rejects.toThrow(/no server could be reached: .*the heartbeat thread has failed/);
  });
});
