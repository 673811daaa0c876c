import { describe, expect, it } from 'vitest';
import { errorOf, NOTICED_MS, RESERVE, started } from '../support/simulated-ensemble.ts';

describe('an operator while all disks are almost full', () => {
  it.each([1, 2, 3, 4, 5, 6])('deletes each node exactly once, whoever leads meanwhile (seed %i)', async (seed) => {
    const ensemble = await started(seed);
    const client = await ensemble.connect({ sessionTimeoutMs: 60_000 });
    const paths = Array.from({ length: 30 }, (_, n) => `/n${n}`);
    for (const path of paths) await ensemble.complete(client.nodes.create(path));
    await ensemble.setFree(RESERVE / 2);

    const operator = await ensemble.connectOperator();
    const random = ensemble.world.random('outage');
    const { leader } = ensemble;
    ensemble.world.after(random.integer(60), () => ensemble.stopHard(leader));
    // One that had happened when its answer was lost, and was asked for again, would be told that there is no such node.
    for (const path of paths) await ensemble.complete(operator.nodes.delete(path));
    await ensemble.until(() => ensemble.leader !== 0 && ensemble.leader !== leader);
    expect((await ensemble.complete(operator.nodes.children('/'))).names).toEqual(['holdfast']);
    expect(await ensemble.complete(errorOf(client.nodes.create('/more')))).toMatchObject({ code: 'DISK_FULL' });

    await ensemble.complete(operator.admin.closeSession(client.sessionId));
    await ensemble.startServer(leader);
    // It is connected to everybody and has caught up.
    await ensemble.world.run({ untilMs: ensemble.world.nowMs + NOTICED_MS });
    const next = ensemble.followers[0] ?? 0;
    expect(await ensemble.complete(operator.admin.transferLeadership(next))).toBe(next);
    const { members } = await ensemble.complete(operator.admin.removeMember(leader === next ? (next % 3) + 1 : leader));
    expect(members).toHaveLength(2);
    await ensemble.complete(operator.close());
    expect(ensemble.server(next).status.sessions).toBe(0);
  });
});

describe('an operator whose ensemble has lost its majority', () => {
  it.each([1, 2, 3])(
    'reads what one server has, is told soon that nobody leads, and goes on after it (seed %i)',
    async (seed) => {
      const ensemble = await started(seed);
      const client = await ensemble.connect();
      await ensemble.complete(client.nodes.create('/n', 'data'));
      const held = await ensemble.complete(client.lock('a').acquire());
      const [stale, fresh] = [await ensemble.connectOperator({ stale: true }), await ensemble.connectOperator()];
      const { appliedIndex } = ensemble.server(ensemble.leader).status;
      await ensemble.until(() => [1, 2, 3].every((id) => ensemble.server(id).status.appliedIndex >= appliedIndex));
      const [gone, alive = 0] = ensemble.followers;
      const dead = [ensemble.leader, gone ?? 0];
      for (const id of dead) ensemble.stopHard(id);

      const before = ensemble.world.nowMs;
      const read = errorOf(fresh.nodes.get('/n', { timeoutMs: 60_000 }));
      expect(await ensemble.complete(read)).toMatchObject({ code: 'NO_LEADER', retryable: true });
      expect(ensemble.world.nowMs - before).toBeLessThan(8_000);
      const onAnswer = ({ server, index }: { readonly server: number; readonly index: number }): void => {
        expect([server, index >= appliedIndex]).toEqual([alive, true]);
      };
      const { data } = await ensemble.complete(stale.nodes.get('/n', { onAnswer }));
      expect(new TextDecoder().decode(data)).toBe('data');
      const queue = await ensemble.complete(stale.admin.lock('a', { onAnswer }));
      expect(queue.holders).toMatchObject([{ token: held.token }]);
      expect(await ensemble.complete(stale.admin.members({ onAnswer }))).toMatchObject({
        leader: 0,
        members: [{ server: 1 }, { server: 2 }, { server: 3 }],
      });
      expect(await ensemble.complete(errorOf(fresh.nodes.delete('/n')))).toMatchObject({ code: 'NO_LEADER' });

      for (const id of dead) await ensemble.startServer(id);
      await ensemble.until(() => ensemble.leader !== 0);
      await ensemble.complete(fresh.nodes.delete('/n'));
      expect(await ensemble.complete(fresh.nodes.exists('/n'))).toBeUndefined();
    },
  );
});
