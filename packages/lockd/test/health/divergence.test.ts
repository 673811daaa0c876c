import { logIndex, serverId, type ServerId } from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { DivergenceCheck, compareDigests } from '../../src/health/divergence.ts';
import { STATE_DIGEST_INTERVAL } from '../../src/limits.ts';
import type { PeerMessage } from '../../src/peers/peer-message.ts';

const ids = (count: number): ServerId[] => Array.from({ length: count }, (_, n) => serverId(n + 1));
const reports = (...digests: number[]): Map<ServerId, number> =>
  new Map(digests.map((digest, n) => [serverId(n + 1), digest]));

/** Checks of several servers, the first of which leads, whose messages arrive at once. */
function ensemble(count: number) {
  const members = ids(count);
  const checks = new Map<ServerId, DivergenceCheck>();
  const stopped: number[] = [];
  const halted: number[] = [];
  const scene = { leader: 0, cut: 0 };
  const digests = new Map<ServerId, number>();
  const deliver = (from: ServerId, to: ServerId, message: PeerMessage): void => {
    const check = checks.get(to);
    if (message.type === 'state-digest') check?.memberMessages['state-digest']?.(from, message);
    if (message.type === 'diverged') check?.memberMessages.diverged?.(from, message);
    if (message.type === 'halted') halted.push(to);
  };
  for (const id of members) {
    checks.set(
      id,
      new DivergenceCheck({
        serverId: id,
        logger: silentLogger,
        digest: () => digests.get(id) ?? 0,
        reaches: (to) => to !== scene.cut && id !== scene.cut,
        members: () => members,
        send: (to, message) => deliver(id, to, message),
        diverged: () => stopped.push(id),
        halted: () => halted.push(id),
      }),
    );
  }
  const apply = (id: number, digest: number, index = STATE_DIGEST_INTERVAL): void => {
    digests.set(serverId(id), digest);
    checks.get(serverId(id))?.applied({ index: logIndex(index) });
  };
  const lead = (id: number): void => {
    scene.leader = id;
    for (const leader of [serverId(0), serverId(id)])
      for (const check of checks.values()) check.statusChanged({ leader });
  };
  const restore = (id: number, digest: number, index: number): void => {
    digests.set(serverId(id), digest);
    checks.get(serverId(id))?.restored(logIndex(index));
  };
  const lose = (id: number): void => checks.get(serverId(id))?.connectionLost(serverId(scene.leader));
  lead(1);
  return { apply, lead, lose, restore, scene, stopped, halted };
}

describe('the comparison of digests', () => {
  it('is open until a majority has reported the same', () => {
    expect(compareDigests(reports(5), 3)).toEqual({ type: 'open' });
    expect(compareDigests(reports(5, 6), 3)).toEqual({ type: 'open' });
    expect(compareDigests(reports(5, 5, 6, 6), 5)).toEqual({ type: 'open' });
  });

  it('names the servers outside the majority', () => {
    expect(compareDigests(reports(5, 6, 5), 3)).toEqual({ type: 'majority', digest: 5, others: [2] });
    expect(compareDigests(reports(5, 5), 3)).toEqual({ type: 'majority', digest: 5, others: [] });
  });

  it('finds that there can be no majority any more', () => {
    expect(compareDigests(reports(5, 6, 7), 3)).toEqual({ type: 'no-majority' });
    expect(compareDigests(reports(5, 6), 2)).toEqual({ type: 'no-majority' });
  });

  it('is decided in an ensemble of one', () => {
    expect(compareDigests(reports(5), 1)).toEqual({ type: 'majority', digest: 5, others: [] });
  });
});

describe('servers whose states agree', () => {
  it('go on', () => {
    const { apply, stopped, halted } = ensemble(3);
    for (const id of [1, 2, 3]) apply(id, 77);
    expect(stopped).toEqual([]);
    expect(halted).toEqual([]);
  });

  it('compare at multiples of the interval only', () => {
    const { apply, stopped, halted } = ensemble(3);
    for (const id of [1, 2, 3]) apply(id, id, STATE_DIGEST_INTERVAL + 1);
    expect(stopped).toEqual([]);
    expect(halted).toEqual([]);
  });
});

describe('a follower that disagrees with the majority', () => {
  it('stops, whoever reports first', () => {
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 3, 1],
    ]) {
      const { apply, stopped } = ensemble(3);
      for (const id of order) apply(id, id === 3 ? 66 : 77);
      expect(stopped).toEqual([3]);
    }
  });
});

describe('a digest that the leader has not heard', () => {
  it('is told with the first entry after the connection is there', () => {
    const { apply, scene, stopped } = ensemble(3);
    scene.cut = 3;
    for (const id of [1, 2, 3]) apply(id, id === 3 ? 66 : 77);
    apply(3, 66, STATE_DIGEST_INTERVAL + 1);
    expect(stopped).toEqual([]);
    scene.cut = 0;
    apply(3, 66, STATE_DIGEST_INTERVAL + 2);
    expect(stopped).toEqual([3]);
  });

  it('is told to the next leader, who compares it with its own', () => {
    const { apply, lead, stopped } = ensemble(3);
    lead(0);
    for (const id of [1, 2, 3]) apply(id, id === 3 ? 66 : 77);
    expect(stopped).toEqual([]);
    lead(2);
    expect(stopped).toEqual([3]);
  });

  it('is told again when it may be lost, and only then', () => {
    const { apply, lose, stopped } = ensemble(3);
    for (const id of [1, 2, 3]) apply(id, id === 3 ? 66 : 77);
    apply(3, 66, STATE_DIGEST_INTERVAL + 1);
    expect(stopped).toEqual([3]);
    lose(3);
    apply(3, 66, STATE_DIGEST_INTERVAL + 2);
    expect(stopped).toEqual([3, 3]);
  });
});

describe('a server that was restored from a snapshot', () => {
  it('is not judged by the state that it had before', () => {
    const { apply, lead, restore, stopped } = ensemble(3);
    lead(0);
    for (const id of [1, 2, 3]) apply(id, id === 3 ? 66 : 77);
    restore(3, 88, STATE_DIGEST_INTERVAL + 7);
    lead(1);
    expect(stopped).toEqual([]);
  });

  it('is judged by the one that it has, when that is of an index at which states are compared', () => {
    const { apply, restore, stopped } = ensemble(3);
    for (const id of [1, 2]) apply(id, 77, 2 * STATE_DIGEST_INTERVAL);
    restore(3, 66, 2 * STATE_DIGEST_INTERVAL);
    expect(stopped).toEqual([3]);
  });
});

describe('a leader that disagrees with the majority', () => {
  it('stops', () => {
    const { apply, stopped, halted } = ensemble(3);
    for (const id of [1, 2, 3]) apply(id, id === 1 ? 66 : 77);
    expect(stopped).toEqual([1]);
    expect(halted).toEqual([]);
  });
});

describe('an ensemble without a majority for any state', () => {
  it('refuses writes everywhere and stops nobody', () => {
    const { apply, stopped, halted } = ensemble(3);
    for (const id of [1, 2, 3]) apply(id, id);
    expect(stopped).toEqual([]);
    expect(halted.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });
});
