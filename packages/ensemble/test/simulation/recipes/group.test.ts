import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

describe('a group', () => {
  it('tells who comes and who goes, by leaving or by dying, over a change of leader', async () => {
    const world = await applications(1);
    const [watcher, a, b] = [await world.connect(), await world.connect(), await world.connect()];
    const aborter = new AbortController();
    const seen: string[] = [];
    const watching = errorOf(
      (async () => {
        for await (const names of watcher.group('g').watch({ signal: aborter.signal })) seen.push(names.join());
      })(),
    );
    await world.ensemble.until(() => seen.length === 1);
    const memberA = await world.complete(a.group('g').join('ann', { value: 'at desk 1' }));
    const memberB = await world.complete(b.group('g').join('bob'));
    expect(new TextDecoder().decode((await world.complete(watcher.group('g').get('ann')))?.data)).toBe('at desk 1');
    await world.complete(memberA.set('at desk 2'));
    await world.changeLeader();
    await world.expire(b);
    expect(memberB.signal.reason).toMatchObject({ code: 'SESSION_EXPIRED' });
    await world.complete(memberA.leave());
    expect(memberA.signal.aborted).toBe(true);
    await world.ensemble.until(() => seen.at(-1) === '' && seen.length > 1);
    expect(seen).toEqual(['', 'ann', 'ann,bob', 'ann', '']);
    expect(await world.complete(watcher.group('g').members())).toEqual([]);
    aborter.abort('enough');
    expect(await world.complete(watching)).toBe('enough');
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('has a resilient member again after its session has expired, with what it said last', async () => {
    const world = await applications(2);
    const [client, other] = [await world.connect({ resilient: true }), await world.connect()];
    const member = await world.complete(client.group('g').join('ann', { value: 'old' }));
    await world.complete(member.set('new'));
    await world.expire(client);
    await world.pass(1_000);
    expect(member.signal.aborted).toBe(false);
    const { data, stat } = (await world.complete(other.group('g').get('ann'))) ?? {};
    expect([new TextDecoder().decode(data), stat?.ephemeralOwner]).toEqual(['new', client.sessionId]);
    await world.complete(member.leave());
    expect(await world.complete(other.group('g').members())).toEqual([]);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('refuses a name that is taken or cannot be, and says when somebody deletes a member', async () => {
    const world = await applications(3);
    const [a, b] = [await world.connect(), await world.connect()];
    const member = await world.complete(a.group('g').join('ann'));
    expect(await world.complete(errorOf(b.group('g').join('ann')))).toMatchObject({ code: 'NODE_EXISTS' });
    for (const name of ['', 'a/b', '..'])
      expect(await world.complete(errorOf(b.group('g').join(name)))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await world.complete(b.nodes.delete('/recipes/groups/g/ann'));
    await world.ensemble.until(() => member.signal.aborted);
    expect(member.signal.reason).toMatchObject({ code: 'NOT_FOUND' });
    await world.complete(member.leave());
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});
