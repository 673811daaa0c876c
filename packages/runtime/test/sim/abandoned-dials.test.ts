import { describe, expect, it } from 'vitest';
import { twoHosts } from './support/two-hosts.ts';

describe('a dial that was given up before a paused process accepted it', () => {
  it('is no open connection of the two hosts, whatever still waits for TCP on it', async () => {
    const { world, server, accepted, dial } = await twoHosts();
    world.network.cut('server', 'client');
    server.pause();
    const outcome = dial({ timeoutMs: 1_500 }).catch((error: unknown) => String(error));
    await world.run({ forMs: 5_000 });
    expect(await outcome).toContain('no answer within 1500 ms');
    server.resume();
    world.network.heal();
    await world.run({ forMs: 100 });
    expect(accepted).toHaveLength(1);
    expect(world.network.backingOff('server', 'client')).toBe(0);
  });
});
