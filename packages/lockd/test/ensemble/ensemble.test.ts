import { describe, expect, it } from 'vitest';
import { SimEnsemble } from './sim-ensemble.ts';
import type { SimClient } from './sim-client.ts';

async function started(seed: number, count = 3): Promise<SimEnsemble> {
  const ensemble = new SimEnsemble(seed, count);
  await ensemble.start();
  return ensemble;
}

function follower(ensemble: SimEnsemble): number {
  return ensemble.ids.find((id) => id !== ensemble.leader) ?? 0;
}

describe('an ensemble', () => {
  it.each([1, 3, 5])('of %i grants locks through any of its servers, with rising tokens', async (count) => {
    const ensemble = await started(1, count);
    let last = 0;
    for (const id of ensemble.ids) {
      const client = ensemble.client([id]);
      const hold = await ensemble.complete(client.acquire('a'));
      expect(hold.token).toBeGreaterThan(last);
      last = hold.token;
      expect(await ensemble.complete(client.release(hold))).toEqual({ type: 'done' });
    }
  });

  it('hands a lock from a client of one server to a client of another', async () => {
    const ensemble = await started(2);
    const [a, b] = [ensemble.client([1]), ensemble.client([2])];
    const first = await ensemble.complete(a.acquire('a'));
    const waiting = b.acquire('a');
    await ensemble.pass(100);
    expect(b.tokens.size).toBe(0);
    await ensemble.complete(a.release(first));
    expect((await ensemble.complete(waiting)).token).toBeGreaterThan(first.token);
  });

  it('takes the same path for the same seed', async () => {
    const run = async (): Promise<string> => {
      const ensemble = await started(3);
      const client = ensemble.client();
      await ensemble.complete(client.acquire('a'));
      return ensemble.world.traceHash;
    };
    expect(await run()).toBe(await run());
  });

  it('stops server by server, each transferring what it leads', async () => {
    const ensemble = await started(4);
    const leader = ensemble.server(ensemble.leader);
    await ensemble.complete(leader.stop());
    await ensemble.until(() =>
      ensemble.ids.some((id) => id !== leader.status.id && ensemble.server(id).status.role === 'leader'),
    );
    expect(ensemble.failures).toEqual([]);
  });
});

describe('the power failure', () => {
  it('of the leader loses nothing that was answered, and no session', async () => {
    const ensemble = await started(5);
    const client = ensemble.client();
    const held = await ensemble.complete(client.acquire('a'));
    ensemble.crash(ensemble.leader, { tear: 'random' });
    const next = await ensemble.complete(client.acquire('b'));
    expect(next.token).toBeGreaterThan(held.token);
    expect(await ensemble.complete(client.release(held))).toEqual({ type: 'done' });
    expect(client.ended).toBe(false);
  });

  it('of all servers at once loses nothing that was answered', async () => {
    const ensemble = await started(6);
    const client = ensemble.client();
    const held = await ensemble.complete(client.acquire('a'));
    for (const id of ensemble.ids) ensemble.crash(id, { tear: 'random' });
    await ensemble.start();
    const other = ensemble.client();
    const waiting = other.acquire('a');
    await ensemble.pass(1_000);
    expect(other.tokens.size).toBe(0);
    expect(await ensemble.complete(client.release(held))).toEqual({ type: 'done' });
    expect((await ensemble.complete(waiting)).token).toBeGreaterThan(held.token);
  });
});

describe('a leader that is paused', () => {
  it('acknowledges no renewal when it wakes, and its clients go on elsewhere', async () => {
    const ensemble = await started(7);
    const old = ensemble.leader;
    const client = ensemble.client([old]);
    await ensemble.complete(client.acquire('a'));
    const host = ensemble.world.host(SimEnsemble.hostOf(old));
    host.pause();
    await ensemble.pass(4_000);
    const renewals = client.renewedAtMs.length;
    const rival = ensemble.client(ensemble.ids.filter((id) => id !== old));
    await ensemble.complete(rival.acquire('b'));
    host.resume();
    await ensemble.pass(20);
    expect(client.renewedAtMs.length).toBe(renewals);
    await ensemble.pass(3_000);
    expect(client.renewedAtMs.length).toBeGreaterThan(renewals);
  });
});

describe('a server without a majority', () => {
  it('sends its clients away and takes them again when it is back', async () => {
    const ensemble = await started(8);
    const id = follower(ensemble);
    const client = ensemble.client([id]);
    await ensemble.complete(client.acquire('a'));
    ensemble.isolate(id);
    await ensemble.until(() => client.goodbyes.includes('NO_LEADER'), 10_000);
    ensemble.heal(id);
    await ensemble.complete(client.acquire('b'), 10_000);
    expect(client.ended).toBe(false);
  });

  it('does so as leader too, and answers nothing that it could not commit', async () => {
    const ensemble = await started(9);
    const id = ensemble.leader;
    const client = ensemble.client([id]);
    await ensemble.complete(client.acquire('a'));
    ensemble.isolate(id);
    const pending = client.acquire('b');
    await ensemble.until(() => client.goodbyes.includes('NO_LEADER'), 10_000);
    expect(client.tokens.size).toBe(1);
    ensemble.heal(id);
    expect((await ensemble.complete(pending)).token).toBeGreaterThan(0);
  });

  it.each([21, 22, 23, 24])(
    'does so as leader as soon as it leads no longer, so that they are served as soon as there is another, seed %i',
    async (seed) => {
      const ensemble = await started(seed);
      const id = ensemble.leader;
      const client = ensemble.client([id, ...ensemble.ids.filter((other) => other !== id)]);
      await ensemble.complete(client.acquire('a'));
      const cutAtMs = ensemble.world.nowMs;
      ensemble.isolate(id);
      const pending = client.acquire('b');
      await ensemble.until(() => client.goodbyes.length > 0);
      // Its timeout of 1,000 ms, and less than two heartbeats.
      expect(ensemble.world.nowMs - cutAtMs).toBeLessThan(1_200);
      await ensemble.until(() => ensemble.leader !== id && ensemble.leader !== 0);
      const electedAtMs = ensemble.world.nowMs;
      await ensemble.complete(pending);
      expect(ensemble.world.nowMs - electedAtMs).toBeLessThan(500);
    },
  );

  it('does not keep a one-way cut from being noticed: what was forwarded is asked for again', async () => {
    const ensemble = await started(10);
    const id = follower(ensemble);
    const client = ensemble.client([id]);
    await ensemble.complete(client.acquire('a'));
    ensemble.world.network.cut(SimEnsemble.hostOf(id), SimEnsemble.hostOf(ensemble.leader));
    const pending = client.acquire('b');
    await ensemble.pass(3_000);
    ensemble.heal(id);
    expect((await ensemble.complete(pending)).token).toBeGreaterThan(0);
  });
});

describe('a session whose client vanishes', () => {
  it('expires after its timeout, not before, and its lock goes to the next', async () => {
    const ensemble = await started(11);
    const client = ensemble.client(ensemble.ids, 2_000);
    await ensemble.complete(client.acquire('a'));
    const next = ensemble.client();
    const waiting = next.acquire('a');
    await ensemble.pass(500);
    client.vanish();
    const from = ensemble.world.nowMs;
    await ensemble.complete(waiting);
    const tookMs = ensemble.world.nowMs - from;
    // Its last heartbeat was up to a sixth of the timeout ago.
    expect(tookMs).toBeGreaterThan(2_000 * (1 - 1 / 6) - 50);
    expect(tookMs).toBeLessThan(2_500);
  });
});

const FAULTS = 10;

describe('clients that contend while servers fail', () => {
  it.each([21, 22, 23, 24])('never get a token twice or out of order (seed %i)', async (seed) => {
    const ensemble = await started(seed);
    const random = ensemble.world.random('faults');
    const holds: { token: number; from: number; to: number }[] = [];
    let faulting = true;
    const work = async (client: SimClient): Promise<void> => {
      while (faulting) {
        const hold = await client.acquire('a');
        const from = ensemble.world.nowMs;
        const reply = await client.release(hold);
        if (reply.type !== 'done') throw new Error(`a hold was lost: ${JSON.stringify(reply)}`);
        holds.push({ token: hold.token, from, to: ensemble.world.nowMs });
      }
    };
    const finished = Promise.all(Array.from({ length: 4 }, () => work(ensemble.client(ensemble.ids, 30_000))));
    for (let fault = 0; fault < FAULTS; fault += 1) {
      await ensemble.pass(random.integer(120));
      const victim = 1 + random.integer(3);
      switch (random.integer(3)) {
        case 0:
          ensemble.crash(victim, { tear: 'random' });
          await ensemble.pass(random.integer(1_500));
          await ensemble.startServer(victim);
          break;
        case 1:
          ensemble.isolate(victim);
          await ensemble.pass(random.integer(3_000));
          ensemble.heal(victim);
          break;
        default: {
          const host = ensemble.world.host(SimEnsemble.hostOf(victim));
          host.pause();
          await ensemble.pass(random.integer(3_000));
          host.resume();
        }
      }
    }
    faulting = false;
    await ensemble.complete(finished, 120_000);
    expect(ensemble.failures).toEqual([]);
    expect(holds.length).toBeGreaterThan(100);
    const inOrder = holds.toSorted((a, b) => a.token - b.token);
    expect(new Set(inOrder.map(({ token }) => token)).size).toBe(holds.length);
    for (const [n, hold] of inOrder.entries()) {
      const previous = inOrder[n - 1];
      // Sessions outlive the faults here, so no grant overlaps the one before: it is told after that one's release was asked for.
      if (previous !== undefined) expect(hold.from).toBeGreaterThanOrEqual(previous.from);
    }
  });
});
