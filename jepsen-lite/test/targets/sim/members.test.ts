import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario, type SeedResult } from '../../../src/targets/sim/run.ts';
import type { Fault, MemberFault } from '../../../src/nemeses/index.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

const calm = drawScenario(1);

/** Three servers, two clients, and no faults but these. */
async function run(members: readonly MemberFault[], faults: readonly Fault[] = []): Promise<SeedResult> {
  const scenario: Scenario = {
    ...calm,
    servers: 3,
    clients: calm.clients.slice(0, 2),
    tuning: { electionTimeoutMs: 800, heartbeatMs: 160, segmentBytes: 64 * 1024 },
    network: { minMs: 0.1, maxMs: 1 },
    disk: { minMs: 0.05, maxMs: 1 },
    durationMs: 12_000,
    faults: [...faults, ...members],
  };
  return await runScenario(scenario);
}

const add = (atMs: number, server: number, observer = false): MemberFault => {
  return { kind: 'add-member', atMs, server, observer, startAfterMs: 0 };
};

describe('an ensemble whose members change under load', { timeout: 60_000 }, () => {
  it('grows from three to five and shrinks to three, its leaders leaving', async () => {
    const { failure, members } = await run([
      add(1_500, 4),
      add(2_500, 5),
      { kind: 'remove-member', atMs: 5_000, server: 'leader' },
      { kind: 'remove-member', atMs: 7_500, server: 'leader' },
    ]);
    expect(failure).toBeUndefined();
    expect(members).toMatchObject({ changesMade: 4, changesRefused: 0, serversJoined: 2, serversRemoved: 2 });
  });

  it('takes an observer in, and gives it a vote', async () => {
    const { failure, members } = await run([add(1_500, 4, true), { kind: 'promote-member', atMs: 3_000, server: 4 }]);
    expect(failure).toBeUndefined();
    expect(members).toMatchObject({ changesMade: 2, serversJoined: 1 });
  });

  it('refuses a server that has lost its disk, and its number for ever', async () => {
    const { failure, members, struck } = await run([
      { kind: 'lose-disk', atMs: 2_000, server: 2 },
      { kind: 'remove-member', atMs: 4_000, server: 2 },
      add(6_000, 2),
      add(7_000, 4),
    ]);
    expect(failure).toBeUndefined();
    expect(members).toMatchObject({ changesMade: 2, changesRefused: 1, serversJoined: 1 });
    expect(struck.get('disk-lost')).toBe(1);
    expect(struck.get('lost-disk-refused')).toBe(1);
  });

  it('ends a change whose leader loses its power in the midst of it', async () => {
    const crash = { kind: 'crash', forMs: 1_000, hosts: ['leader'], tear: 'random' } as const;
    const { failure, members } = await run(
      [add(2_000, 4), { kind: 'remove-member', atMs: 4_000, server: 1 }],
      [2_002, 2_300, 4_003].map((atMs) => ({ ...crash, atMs })),
    );
    expect(failure).toBeUndefined();
    expect(members).toMatchObject({ changesMade: 2, serversJoined: 1, serversRemoved: 1 });
  });

  it('keeps its last voter', async () => {
    const { failure, members } = await run(
      [1, 2, 3].map((server) => ({ kind: 'remove-member', atMs: 2_000 * server, server }) as const),
    );
    expect(failure).toBeUndefined();
    expect(members).toMatchObject({ changesMade: 2, changesRefused: 1, serversRemoved: 2 });
  });
});
