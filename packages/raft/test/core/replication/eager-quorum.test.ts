import { describe, expect, it } from 'vitest';
import { serverId, type Effect } from '../../../src/core/index.ts';
import { ScriptedCore, heartbeatResponse, sent } from '../support/scripted-core.ts';

const DELAY_MS = 4;

function leader(servers = 3, deferredFollowerDelayMs = DELAY_MS): ScriptedCore {
  const core = new ScriptedCore({ servers, config: { deferredFollowerDelayMs } });
  core.leadInSync();
  replicateToAll(core);
  return core;
}

const appended = (effects: readonly Effect[]): number[] => sent(effects, 'append').map(({ to }) => to);

/** After a quiet time: one command for all, which everybody then has. */
function replicateToAll(core: ScriptedCore, peers: readonly number[] = core.peers): void {
  core.elapse(DELAY_MS);
  expect(appended(core.propose('for all'))).toEqual(peers);
  core.durable();
  for (const peer of peers) core.acknowledge(peer, core.status.lastIndex);
}

/** Whom a leader told at once of one more command, which everybody then has. */
function eager(core: ScriptedCore): number[] {
  const peers = appended(core.propose('x'));
  core.durable();
  core.elapse(DELAY_MS);
  for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
  return peers;
}

/** How long the commit of one more command waited, in which only these peers acknowledge what they are told, at once; all are heard. */
function commitBy(core: ScriptedCore, ...answering: readonly number[]): number {
  const began = core.now;
  let effects = core.propose('x');
  const { lastIndex } = core.status;
  core.durable();
  while (core.status.commitIndex < lastIndex && core.now < began + 100) {
    for (const { to, prevIndex, entries } of sent(effects, 'append')) {
      if (answering.includes(to)) core.acknowledge(to, prevIndex + entries.length);
    }
    if (core.status.commitIndex === lastIndex) break;
    effects = core.elapse(1);
    for (const peer of core.peers) {
      if (!answering.includes(peer)) core.receive(peer, heartbeatResponse(core.status.term, 0, true));
    }
  }
  return core.now - began;
}

describe('a leader sends new entries', () => {
  it.each([
    [3, 1],
    [5, 2],
    [7, 3],
  ])('of %i servers at once to as many as make a majority with it: %i', (servers, many) => {
    const core = leader(servers);
    const first = eager(core);
    expect(first).toHaveLength(many);
    expect(eager(core)).toEqual(first);
  });

  it('to all at once after a quiet time', () => {
    const core = leader();
    core.elapse(DELAY_MS);
    expect(appended(core.propose('a'))).toEqual([2, 3]);
    expect(appended(core.propose('b'))).toHaveLength(1);
  });

  it('to a deferred follower in one append, with everything proposed during the delay', () => {
    const core = leader();
    const [one] = appended(core.propose('a'));
    expect(appended(core.elapse(1))).toEqual([]);
    expect(appended(core.propose('b', 'c'))).toEqual([one]);
    expect(appended(core.elapse(DELAY_MS - 1 - 0.01))).toEqual([]);
    const late = sent(core.elapse(0.01), 'append');
    expect(late.map(({ to, entries }) => [to, entries.length])).toEqual([[core.peers.find((peer) => peer !== one), 3]]);
    expect(appended(core.elapse(50))).toEqual([]);
  });

  it('to all at once when no follower may be deferred', () => {
    expect(eager(leader(3, 0))).toEqual([2, 3]);
  });

  it('to a follower with clients at once, which takes the place of another in the eager quorum', () => {
    const core = leader();
    const [one = 0] = eager(core);
    const other = core.peers.find((peer) => peer !== one) ?? 0;
    core.acknowledge(other, core.status.lastIndex, true);
    core.propose('for all');
    expect(appended(core.propose('x'))).toEqual([other]);
    core.acknowledge(other, core.status.lastIndex, true);
    core.acknowledge(one, core.status.lastIndex, true);
    expect(appended(core.propose('y'))).toEqual([2, 3]);
  });

  it('to the deferred follower at once when an eager one has gone, with what was deferred', () => {
    const core = leader();
    const [one = 0] = appended(core.propose('a'));
    const left = sent(core.step({ type: 'peer-disconnected', peer: serverId(one) }), 'append');
    expect(left).toMatchObject([{ entries: [{ index: 3 }] }]);
    expect(left[0]?.to).not.toBe(one);
    expect(appended(core.propose('b'))).toEqual([left[0]?.to]);
  });

  it('to another first when an eager follower has not been heard for long', () => {
    const core = leader();
    const [silent = 0] = eager(core);
    const other = core.peers.find((peer) => peer !== silent) ?? 0;
    for (let passed = 0; passed < 2_500; passed += 100) {
      for (const { to, round } of sent(core.elapse(100), 'heartbeat')) {
        if (to === other) core.receive(other, heartbeatResponse(core.status.term, round));
      }
    }
    core.propose('for all');
    expect(eager(core)).toEqual([other]);
  });

  it('to another first when that one is faster all the time, though it is deferred', () => {
    const core = leader();
    const [slow = 0] = eager(core);
    const fast = core.peers.find((peer) => peer !== slow) ?? 0;
    const firsts: number[][] = [];
    for (let count = 0; count < 10; count += 1) {
      core.propose('for all');
      firsts.push(appended(core.propose('x')));
      core.durable();
      core.elapse(DELAY_MS);
      core.acknowledge(fast, core.status.lastIndex);
      expect(core.status.commitIndex).toBe(core.status.lastIndex);
      core.acknowledge(slow, core.status.lastIndex);
    }
    expect(firsts.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => [slow]));
    expect(firsts.slice(8)).toEqual([[fast], [fast]]);
  });

  it('to the same first when each is sometimes the faster, and when its own disk was the slowest', () => {
    const core = leader();
    const [one = 0] = eager(core);
    const other = core.peers.find((peer) => peer !== one) ?? 0;
    for (let count = 0; count < 40; count += 1) {
      core.propose('x');
      core.elapse(DELAY_MS);
      core.propose('y');
      core.durable();
      core.elapse(DELAY_MS);
      for (const peer of count % 2 === 0 ? [one, other] : [other, one]) core.acknowledge(peer, core.status.lastIndex);
    }
    for (let count = 0; count < 20; count += 1) {
      core.propose('x');
      core.elapse(DELAY_MS);
      core.acknowledge(one, core.status.lastIndex);
      core.acknowledge(other, core.status.lastIndex);
      core.durable();
    }
    expect(eager(core)).toEqual([one]);
  });

  it('another first when one with clients does not answer, which costs a few commits the delay and no more', () => {
    const core = leader();
    const [hung, other] = core.peers;
    core.acknowledge(hung ?? 0, core.status.lastIndex, true);
    const waits = Array.from({ length: 50 }, () => commitBy(core, other ?? 0));
    expect(waits.slice(0, 8).some((waitMs) => waitMs > 0)).toBe(true);
    expect(waits.slice(9)).toEqual(Array.from({ length: 41 }, () => 0));
    // Its clients still want to know as early as can be.
    expect(appended(core.propose('x'))).toEqual(core.peers);
  });

  it('only the one with clients again when that keeps up again', () => {
    const core = leader();
    const [hung = 0, other = 0] = core.peers;
    core.acknowledge(hung, core.status.lastIndex, true);
    for (let count = 0; count < 20; count += 1) commitBy(core, other);
    core.acknowledge(hung, core.status.lastIndex, true);
    expect(commitBy(core, other)).toBe(0);
    core.propose('y');
    core.durable();
    expect(appended(core.propose('z'))).toEqual([hung]);
  });

  it('one of the others of five first, when one with clients does not answer', () => {
    const core = leader(5);
    const [hung = 0, ...others] = core.peers;
    core.acknowledge(hung, core.status.lastIndex, true);
    const waits = Array.from({ length: 50 }, () => commitBy(core, ...others));
    expect(waits.slice(16)).toEqual(Array.from({ length: 34 }, () => 0));
    expect(appended(core.propose('x'))).toHaveLength(3);
  });

  it('everybody at once while the members change', () => {
    const core = leader();
    const id = serverId(4);
    core.step({ type: 'peer-connected', peer: id });
    const change = { type: 'add', id, peerAddress: 'host:4', observer: false } as const;
    core.step({ type: 'change-membership', ticket: 1, change });
    expect(appended(core.propose('x'))).toEqual(expect.arrayContaining([2, 3]));
  });

  it('the same first after a change of the members, whoever was the faster while everybody was told at once', () => {
    const core = leader();
    const [slow = 0] = eager(core);
    const fast = core.peers.find((peer) => peer !== slow) ?? 0;
    const learner = serverId(4);
    const add = { type: 'add', id: learner, peerAddress: 'host:4', observer: false } as const;
    // Not connected: it does not catch up, and the change goes on.
    core.step({ type: 'change-membership', ticket: 1, change: add });
    for (let count = 0; count < 10; count += 1) {
      expect(appended(core.propose('x'))).toEqual(core.peers);
      core.durable();
      core.acknowledge(fast, core.status.lastIndex);
      expect(core.status.commitIndex).toBe(core.status.lastIndex);
      core.acknowledge(slow, core.status.lastIndex);
    }
    core.step({ type: 'change-membership', ticket: 2, change: { type: 'remove', id: learner } });
    core.durable();
    for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
    expect(eager(core)).toEqual([slow]);
  });

  it('at once the one that is to take over, so that it is not waited for', () => {
    const core = leader();
    const [one = 0] = appended(core.propose('a'));
    const other = core.peers.find((peer) => peer !== one) ?? 0;
    const effects = core.step({ type: 'transfer', ticket: 1, target: serverId(other) });
    expect(appended(effects)).toEqual([other]);
  });

  it('a commit when the first does not answer, after the delay', () => {
    const core = leader();
    const [one = 0] = appended(core.propose('a'));
    const other = core.peers.find((peer) => peer !== one) ?? 0;
    core.durable();
    expect(appended(core.elapse(DELAY_MS))).toEqual([other]);
    core.acknowledge(other, core.status.lastIndex);
    expect(core.status.commitIndex).toBe(core.status.lastIndex);
  });
});
