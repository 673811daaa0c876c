import { describe, expect, it } from 'vitest';
import { SERVERS, started } from '../support/simulated-ensemble.ts';

const HANGS_MS = 60_000;
const SESSION_MS = 30_000;
/** An election timeout until the disk counts as hung, and an election at its slowest. */
const TAKEN_OVER_MS = 5_000;

describe('an ensemble in which one disk hangs', () => {
  it.each([1, 2, 3])(
    "goes on under another leader when it is the leader's, and takes the server back (seed %i)",
    async (seed) => {
      const ensemble = await started(seed);
      const client = await ensemble.connect({ sessionTimeoutMs: SESSION_MS });
      const held = await ensemble.complete(client.lock('a').acquire());
      const hung = ensemble.leader;
      const before = ensemble.server(hung).status.term;
      ensemble.disk(hung).stall(HANGS_MS);
      const hungAtMs = ensemble.world.nowMs;

      const other = await ensemble.complete(client.lock('b').acquire());
      await ensemble.until(() => ![0, hung].includes(ensemble.leader));
      expect(ensemble.world.nowMs - hungAtMs).toBeLessThan(TAKEN_OVER_MS);
      expect(ensemble.server(hung).status.role).toBe('follower');
      expect(ensemble.server(hung).diskStalls).toBe(true);

      const leader = ensemble.leader;
      const { term } = ensemble.server(leader).status;
      expect(term).toBeGreaterThan(before);
      for (let n = 0; n < 20; n += 1) await ensemble.complete(client.nodes.create(`/n${n}`), 2_000);
      await ensemble.world.run({ untilMs: hungAtMs + HANGS_MS - 1_000 });
      expect(ensemble.leader).toBe(leader);
      expect(ensemble.server(leader).status.term).toBe(term);
      held.assertHeld();

      const { lastIndex } = ensemble.server(leader).status;
      await ensemble.until(() => ensemble.server(hung).status.appliedIndex >= lastIndex);
      expect(ensemble.server(hung).diskStalls).toBe(false);
      await ensemble.complete(other.release());
      expect(ensemble.failures.size).toBe(0);
    },
  );

  it("is not slowed down when it is a follower's", async () => {
    const took = async (hang: boolean): Promise<number> => {
      const ensemble = await started(4);
      const client = await ensemble.connect({ servers: [`s${ensemble.leader}:7100`] });
      const [follower = 0] = ensemble.followers;
      const { term } = ensemble.server(ensemble.leader).status;
      if (hang) ensemble.disk(follower).stall(HANGS_MS);
      const begin = ensemble.world.nowMs;
      for (let n = 0; n < 200; n += 1) await ensemble.complete(client.nodes.create(`/n${n}`));
      const tookMs = ensemble.world.nowMs - begin;
      await ensemble.world.run({ untilMs: begin + HANGS_MS - 1_000 });
      expect(SERVERS.map((id) => ensemble.server(id).status.term)).toEqual([term, term, term]);
      return tookMs;
    };
    // With one follower less there is no choice of the faster one of two, and nothing else.
    expect(await took(true)).toBeLessThan(2 * (await took(false)));
  });
});
