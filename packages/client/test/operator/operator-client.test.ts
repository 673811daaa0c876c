import { decodeAttachRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { ClientClosedError, InvalidArgumentError, NotFoundError } from '../../src/errors.ts';
import type { AnswerSource } from '../../src/session/answer-source.ts';
import { scenario } from '../support/scenario.ts';

describe("an operator's client", () => {
  it('reads nodes, locks, sessions and members without a session', async () => {
    const { world, ensemble, operating } = await scenario();
    ensemble.nodes.set('/a', new Uint8Array([1]));
    const { nodes, admin } = await world.settled(operating());
    expect([...(await world.settled(nodes.get('/a'))).data]).toEqual([1]);
    expect(await world.settled(nodes.exists('/b'))).toBeUndefined();
    expect((await world.settled(nodes.children('/'))).names).toEqual(['a']);
    expect(await world.settled(admin.lock('a'))).toMatchObject({ holders: [], waiters: [] });
    expect(await world.settled(admin.members())).toMatchObject({ leader: 1, members: [{ server: 1 }, {}, {}] });
    expect(await world.settled(admin.transferLeadership(2))).toBe(2);
    expect(ensemble.sessions.size).toBe(0);
    const reads = ensemble.received.flatMap(({ message }) => (message.type === 'read' ? [message.consistency] : []));
    expect(new Set(reads)).toEqual(new Set(['linearizable']));
  });

  it('takes a lock away from who holds it under a token, and says which token its resource should be told', async () => {
    const { world, operating, connect } = await scenario();
    const client = await connect();
    const lock = client.readWriteLock('a').read();
    const [held, other] = [await world.settled(lock.acquire()), await world.settled(lock.acquire())];
    const { admin } = await world.settled(operating());
    expect(await world.rejection(admin.revoke('a', held.token + 1_000))).toMatchObject({
      code: 'NOT_FOUND',
      message: `nobody holds lock "a" under token ${held.token + 1_000}: it is held under ${held.token}, ${other.token}`,
    });
    const { index } = await world.settled(admin.revoke('a', held.token));
    expect(index).toBeGreaterThan(held.token);
    await world.until(() => held.signal.aborted);
    expect(held.loss).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(other.loss).toBeUndefined();
    for (const wrong of [0, -1, 1.5, Number.NaN]) {
      expect(await world.rejection(admin.revoke('a', wrong))).toBeInstanceOf(InvalidArgumentError);
    }
    expect(await world.rejection(admin.revoke('a', other.token, { hold: held.acquireIndex }))).toBeInstanceOf(
      NotFoundError,
    );
    expect(await world.rejection(admin.revoke('', other.token))).toBeInstanceOf(InvalidArgumentError);
  });

  it('gives back through a session that says so, which ends with it', async () => {
    const { world, ensemble, operating, connect } = await scenario();
    ensemble.nodes.set('/a', new Uint8Array());
    const other = await connect();
    const operator = await world.settled(operating());
    await world.settled(operator.nodes.delete('/a'));
    expect(ensemble.nodes.has('/a')).toBe(false);
    expect(await world.rejection(operator.nodes.delete('/a'))).toBeInstanceOf(NotFoundError);
    await world.settled(operator.admin.closeSession(other.sessionId));
    await world.sleep(10);
    expect(other.state).toBe('expired');
    const attaches = ensemble.received.flatMap(({ message }) =>
      message.type === 'attach' ? [decodeAttachRequest(message.payload).givesBack] : [],
    );
    expect(attaches).toEqual([false, true]);
    await world.settled(operator.close());
    expect(ensemble.sessions.size).toBe(0);
  });

  it('gives back through another session when the first has ended', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const path of ['/a', '/b']) ensemble.nodes.set(path, new Uint8Array());
    const { nodes } = await world.settled(operating());
    await world.settled(nodes.delete('/a'));
    for (const id of ensemble.sessions.keys()) ensemble.endSession(id, 'expired');
    await world.sleep(10);
    await world.settled(nodes.delete('/b'));
    expect(ensemble.nodes.size).toBe(0);
  });

  it('goes on at another server when its own is lost, and rests while nothing is asked', async () => {
    const { world, ensemble, operating } = await scenario();
    const { nodes } = await world.settled(operating());
    const [first] = world.dials;
    const before = ensemble.servers.find(({ connections }) => connections > 0);
    before?.disconnectAll();
    await world.sleep(5_000);
    expect(world.dials).toEqual([first]);
    before?.host.crash();
    expect((await world.settled(nodes.children('/'))).names).toEqual([]);
  });

  it('fails every call that is under way when it is closed, and those that come later', async () => {
    const { world, ensemble, operating, host } = await scenario();
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'read' ? 'ignore' : 'handle');
    const operator = await world.settled(operating());
    const read = world.rejection(operator.nodes.get('/a'));
    await world.settled(operator.close());
    expect(await read).toBeInstanceOf(ClientClosedError);
    expect(await world.rejection(operator.nodes.get('/a'))).toBeInstanceOf(ClientClosedError);
    expect(await world.rejection(operator.nodes.delete('/a'))).toBeInstanceOf(ClientClosedError);
    await world.sleep(1_000);
    expect(host.timers).toBe(0);
  });

  it('refuses options that it does not have', async () => {
    const { world, operating } = await scenario();
    for (const options of [{ stael: true }, { stale: 'yes' }, { sessionTimeoutMs: 5_000 }, { servers: [] }]) {
      expect(await world.rejection(operating(options as object))).toBeInstanceOf(InvalidArgumentError);
    }
  });
});

describe("an operator's client where nobody leads", () => {
  it('is told so as soon as every server was asked, with a stopped and a dead one among them', async () => {
    const { world, ensemble, operating } = await scenario();
    ensemble.server(1).leaderless = true;
    ensemble.server(2).host.crash();
    ensemble.server(3).hook = () => 'ignore';
    const before = world.nowMs;
    const error = await world.rejection(operating({ connectTimeoutMs: 60_000 }));
    expect(error).toMatchObject({ code: 'NO_LEADER', retryable: true, indeterminate: false });
    expect((error as Error).message).toMatch(
      /no server that answers knows a leader: .*server-1.*no contact to a leader/,
    );
    expect(world.nowMs - before).toBeLessThan(3_000);
  });

  it('goes on trying for as long as it may while no server answers at all', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const server of ensemble.servers) server.host.crash();
    const error = await world.rejection(operating({ connectTimeoutMs: 2_000 }));
    expect(error).toMatchObject({
      code: 'CONNECTION_FAILED',
      message: expect.stringContaining('no answer within 2000 ms'),
    });
  });

  it('finds the server that knows a leader among those that do not', async () => {
    const { world, ensemble, operating } = await scenario({ servers: 5 });
    for (const id of [1, 2, 3, 4]) ensemble.server(id).leaderless = true;
    const operator = await world.settled(operating());
    expect(await world.settled(operator.admin.members())).toMatchObject({ leader: 1 });
  });

  it('fails what is under way when the leader is lost, and asks anew for what comes later', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'read' ? 'ignore' : 'handle');
    const { nodes } = await world.settled(operating());
    const read = world.rejection(nodes.exists('/a'));
    for (const server of ensemble.servers) {
      server.leaderless = true;
      server.hook = () => 'handle';
      server.disconnectAll();
    }
    expect(await read).toMatchObject({ code: 'NO_LEADER' });
    for (const server of ensemble.servers) server.leaderless = false;
    expect(await world.settled(nodes.exists('/a'))).toBeUndefined();
  });

  it('tries every server anew, whatever it heard before', async () => {
    const { world, ensemble, operating } = await scenario();
    const { nodes } = await world.settled(operating());
    for (let round = 1; round <= 6; round += 1) {
      for (const server of ensemble.servers) server.leaderless = true;
      for (const server of ensemble.servers) server.disconnectAll();
      expect(await world.rejection(nodes.exists('/a'))).toMatchObject({ code: 'NO_LEADER' });
      for (const server of ensemble.servers) server.leaderless = server.id !== (round % 3) + 1;
      // What failed a moment ago is tried last.
      await world.sleep(3_000);
      expect(await world.settled(nodes.exists('/a'))).toBeUndefined();
    }
  });

  it('does not say of a change whose answer was lost with its connection that it did not happen', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'admin' ? 'ignore' : 'handle');
    const { admin } = await world.settled(operating());
    const [changed, listed] = [world.rejection(admin.removeMember(3)), world.rejection(admin.members())];
    await world.sleep(10);
    for (const server of ensemble.servers) {
      server.leaderless = true;
      server.disconnectAll();
    }
    expect(await changed).toMatchObject({ code: 'LEADER_CHANGED', indeterminate: true });
    expect(await listed).toMatchObject({ code: 'NO_LEADER', indeterminate: false });
  });

  it('may not delete, which takes no longer to say', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const server of ensemble.servers) server.leaderless = true;
    const { nodes, admin } = await world.settled(operating({ stale: true, connectTimeoutMs: 60_000 }));
    const before = world.nowMs;
    expect(await world.rejection(nodes.delete('/a'))).toMatchObject({ code: 'NO_LEADER' });
    expect(await world.rejection(admin.closeSession(7))).toMatchObject({ code: 'NO_LEADER' });
    expect(world.nowMs - before).toBeLessThan(3_000);
  });

  it('reads stale, and says from which server and up to which index', async () => {
    const { world, ensemble, operating } = await scenario();
    ensemble.nodes.set('/a', new Uint8Array([1]));
    ensemble.server(1).host.crash();
    ensemble.server(2).leaderless = true;
    ensemble.server(3).host.crash();
    const sources: AnswerSource[] = [];
    const onAnswer = (source: AnswerSource): void => void sources.push(source);
    const { nodes, admin } = await world.settled(operating({ stale: true }));
    expect([...(await world.settled(nodes.get('/a', { onAnswer }))).data]).toEqual([1]);
    expect(await world.rejection(nodes.get('/b', { onAnswer }))).toBeInstanceOf(NotFoundError);
    expect(await world.settled(admin.members({ onAnswer }))).toMatchObject({ leader: 0 });
    const source = { server: 2, address: ensemble.server(2).address, index: ensemble.index };
    expect(sources).toEqual([source, source, source]);
    const asked = ensemble.received.flatMap(({ message }): unknown[] => {
      if (message.type === 'read') return [message.consistency];
      return message.type === 'admin' ? [message.operation] : [];
    });
    expect(asked).toEqual(['local', 'local', { type: 'members', local: true }]);
  });

  it('does not ask a server of an older version for members that it could not tell', async () => {
    const { world, ensemble, operating } = await scenario();
    for (const server of ensemble.servers) server.features = 7;
    const { admin } = await world.settled(operating({ stale: true }));
    expect(await world.rejection(admin.members())).toMatchObject({ code: 'UNSUPPORTED' });
    expect(ensemble.count('admin')).toBe(0);
  });
});
