import { CommandType, CreateMode, decodeCommand, type Command as AnyCommand } from '@holdfast/protocol';
import { decodeEntryHeader, entryPayload, LATEST_STATE_VERSION } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { STATE_UPGRADE_CHECK_MS, STATE_UPGRADE_CHECKS, UNUSED_TICK_MS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

type Command = Extract<AnyCommand, { type: 'createNode' | 'set' | 'delete' | 'transaction' }>;

const CONTAINER_CHECK_MS = 5_000;
/** What is due is proposed within that. */
const LATE_MS = 2 * UNUSED_TICK_MS;

interface Led {
  readonly ensemble: LoopbackEnsemble;
  readonly client: TestClient;
  readonly send: (command: Command) => void;
  /** Whether every server has the node, or none; an error for anything else. */
  readonly exists: (path: string) => boolean;
}

/** Three servers of the latest state version under leader 1, and a client of server 2. */
function led(): Led {
  const ensemble = new LoopbackEnsemble(3, { containerCheckMs: CONTAINER_CHECK_MS });
  ensemble.elect(1);
  ensemble.clock.advance(LATEST_STATE_VERSION * STATE_UPGRADE_CHECK_MS * STATE_UPGRADE_CHECKS);
  const client = ensemble.server(2).connect();
  client.attach(1, { timeoutMs: 120_000 });
  let number = 0;
  const send = (command: Command): void => {
    number += 1;
    client.request(number, command, number - 1);
    const reply = client.take().find((message) => message.type === 'reply');
    if (reply?.type !== 'reply' || reply.reply.type === 'error') throw new Error(JSON.stringify(reply));
  };
  const exists = (path: string): boolean => {
    const answers = ensemble.servers.map(({ machine }) => machine.state.query({ type: 'exists', path }));
    const found = new Set(answers.map((answer) => answer.type === 'exists' && answer.stat !== undefined));
    if (found.size !== 1) throw new Error(`the servers do not agree about ${path}`);
    return found.has(true);
  };
  return { ensemble, client, send, exists };
}

const ttl = (path: string, ttlMs: number): Command => ({
  type: 'createNode',
  path,
  data: [],
  mode: CreateMode.persistentTtl,
  ttlMs,
});
const container = (path: string): Command => ({
  type: 'createNode',
  path,
  data: [],
  mode: CreateMode.container,
  ttlMs: 0,
});
const plain = (path: string): Command => ({
  type: 'createNode',
  path,
  data: [],
  mode: CreateMode.persistent,
  ttlMs: 0,
});
const remove = (path: string): Command => ({ type: 'delete', path, version: -1 });

/** How many nodes each entry that removes some names. */
function removals({ log }: LoopbackEnsemble): number[] {
  return log.flatMap(({ data }) => {
    if (data.length === 0 || decodeEntryHeader(data).command !== CommandType.removeUnused) return [];
    const command = decodeCommand('removeUnused', entryPayload(data));
    return command.type === 'removeUnused' ? [command.nodes.length] : [];
  });
}

describe('a node with a time to live', () => {
  it('goes when that is over, not before, and a change of its data begins it anew', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 10_000));
    send(ttl('/b', 10_000));
    ensemble.clock.advance(9_000);
    send({ type: 'set', path: '/b', data: new Uint8Array(), version: -1 });
    ensemble.clock.advance(999);
    expect([exists('/a'), exists('/b')]).toEqual([true, true]);
    ensemble.clock.advance(LATE_MS);
    expect([exists('/a'), exists('/b')]).toEqual([false, true]);
    ensemble.clock.advance(8_000 - LATE_MS);
    expect(exists('/b')).toBe(true);
    ensemble.clock.advance(1_000 + LATE_MS);
    expect(exists('/b')).toBe(false);
  });

  it('stays while it has children, and goes soon after the last one', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 1_000));
    send(plain('/a/x'));
    ensemble.clock.advance(60_000);
    expect([exists('/a'), removals(ensemble)]).toEqual([true, []]);
    send(remove('/a/x'));
    ensemble.clock.advance(LATE_MS);
    expect(exists('/a')).toBe(false);
  });

  it('is not removed by a wall clock that jumps, in whichever direction', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/before', 60_000));
    ensemble.clock.wallOffsetMs += 86_400_000;
    send(ttl('/ahead', 60_000));
    ensemble.clock.wallOffsetMs -= 2 * 86_400_000;
    // The stamps of entries stand still until the wall clock is there again.
    ensemble.clock.advance(50_000);
    send(ttl('/back', 60_000));
    send({ type: 'set', path: '/ahead', data: new Uint8Array(), version: -1 });
    ensemble.clock.advance(9_999);
    expect(['/before', '/ahead', '/back'].map(exists)).toEqual([true, true, true]);
    ensemble.clock.advance(LATE_MS);
    expect(['/before', '/ahead', '/back'].map(exists)).toEqual([false, true, true]);
    ensemble.clock.advance(50_000);
    expect(['/ahead', '/back'].map(exists)).toEqual([false, false]);
  });

  it('does not begin anew with an election', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 10_000));
    ensemble.clock.advance(6_000);
    // What tells the next leader how late it is: any entry.
    send(plain('/b'));
    ensemble.depose();
    ensemble.elect(3);
    ensemble.clock.advance(3_999);
    expect(exists('/a')).toBe(true);
    ensemble.clock.advance(1 + LATE_MS);
    expect(exists('/a')).toBe(false);
  });

  it('does not count the time without a leader, of which no entry says how long it was', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 10_000));
    ensemble.depose();
    ensemble.clock.advance(20_000);
    ensemble.elect(3);
    expect(exists('/a')).toBe(true);
    ensemble.clock.advance(9_000);
    expect(exists('/a')).toBe(true);
    ensemble.clock.advance(1_000 + LATE_MS);
    expect(exists('/a')).toBe(false);
  });

  it('that is over by the last entry before an election goes at once', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 10_000));
    ensemble.holdCommits = true;
    ensemble.clock.advance(10_000 + LATE_MS);
    // What the leader proposed is held, and lost with it; an entry of its time is not.
    ensemble.server(1).dropProposals();
    ensemble.holdCommits = false;
    send(plain('/b'));
    ensemble.depose();
    ensemble.elect(2);
    expect(exists('/a')).toBe(true);
    ensemble.clock.advance(LATE_MS);
    expect(exists('/a')).toBe(false);
  });

  it('that was proposed and lost with its leader is proposed by the next', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 1_000));
    ensemble.holdCommits = true;
    ensemble.clock.advance(1_000 + LATE_MS);
    ensemble.depose();
    ensemble.holdCommits = false;
    ensemble.elect(2);
    expect(exists('/a')).toBe(true);
    ensemble.clock.advance(1_000 + LATE_MS);
    expect(exists('/a')).toBe(false);
  });

  it('that cannot be proposed for now is proposed again', () => {
    const { ensemble, send, exists } = led();
    send(ttl('/a', 1_000));
    ensemble.rejectWith = 'overloaded';
    ensemble.clock.advance(5_000);
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(LATE_MS);
    expect(exists('/a')).toBe(false);
  });
});

describe('a container', () => {
  it('goes some time after its last child, and one that was never used stays', () => {
    const { ensemble, send, exists } = led();
    for (const path of ['/c', '/never', '/c/x']) send(path === '/c/x' ? plain(path) : container(path));
    ensemble.clock.advance(60_000);
    send(remove('/c/x'));
    ensemble.clock.advance(CONTAINER_CHECK_MS - 1);
    expect(exists('/c')).toBe(true);
    ensemble.clock.advance(LATE_MS);
    expect([exists('/c'), exists('/never')]).toEqual([false, true]);
  });

  it('stays when it is refilled in time, and has its whole time when it is empty again', () => {
    const { ensemble, send, exists } = led();
    send(container('/c'));
    send(plain('/c/x'));
    send(remove('/c/x'));
    ensemble.clock.advance(CONTAINER_CHECK_MS - 1_000);
    send(plain('/c/y'));
    ensemble.clock.advance(60_000);
    expect([exists('/c'), removals(ensemble)]).toEqual([true, []]);
    send(remove('/c/y'));
    ensemble.clock.advance(CONTAINER_CHECK_MS - 1);
    expect(exists('/c')).toBe(true);
    ensemble.clock.advance(LATE_MS);
    expect(exists('/c')).toBe(false);
  });

  it('that is refilled between the proposal and the entry stays', () => {
    const { ensemble, send, exists } = led();
    send(container('/c'));
    send(plain('/c/x'));
    send(remove('/c/x'));
    ensemble.holdCommits = true;
    ensemble.clock.advance(CONTAINER_CHECK_MS + LATE_MS);
    // Another leader's log has the child before the removal.
    ensemble.depose();
    ensemble.holdCommits = false;
    ensemble.elect(1);
    send(plain('/c/y'));
    ensemble.clock.advance(60_000);
    expect([exists('/c'), removals(ensemble)]).toEqual([true, []]);
  });

  it('within another takes that with it, each in its own time', () => {
    const { ensemble, send, exists } = led();
    for (const path of ['/c', '/c/d']) send(container(path));
    send(plain('/c/d/x'));
    send(remove('/c/d/x'));
    ensemble.clock.advance(CONTAINER_CHECK_MS + LATE_MS);
    expect([exists('/c/d'), exists('/c')]).toEqual([false, true]);
    ensemble.clock.advance(CONTAINER_CHECK_MS + LATE_MS);
    expect(exists('/c')).toBe(false);
  });

  it('that was empty before an election is removed by the leader that follows', () => {
    const { ensemble, send, exists } = led();
    send(container('/c'));
    send(plain('/c/x'));
    send(remove('/c/x'));
    ensemble.depose();
    ensemble.elect(2);
    ensemble.clock.advance(CONTAINER_CHECK_MS + LATE_MS);
    expect(exists('/c')).toBe(false);
  });
});

describe('very many unused nodes', () => {
  it('go a thousand an entry at most, also those that a new leader finds', () => {
    const { ensemble, send } = led();
    const paths = Array.from({ length: 2_500 }, (_, n) => `/n${n}`);
    for (let from = 0; from < paths.length; from += 500) {
      const operations = paths
        .slice(from, from + 500)
        .map((path) => ({ type: 'create', path, data: [], mode: CreateMode.persistentTtl, ttlMs: 5_000 }) as const);
      send({ type: 'transaction', operations });
    }
    ensemble.depose();
    ensemble.elect(3);
    const before = ensemble.server(1).machine.state.counts.nodes;
    ensemble.clock.advance(5_000 + 4 * LATE_MS);
    expect(ensemble.servers.map(({ machine }) => before - machine.state.counts.nodes)).toEqual([2_500, 2_500, 2_500]);
    expect(removals(ensemble)).toEqual([1_000, 1_000, 500]);
  });

  it('with long paths go in entries of bounded size', () => {
    const { ensemble, send } = led();
    send(plain('/d'));
    const operations = Array.from({ length: 60 }, (_, n) => {
      const path = `/d/${'x'.repeat(4_000)}${n}`;
      return { type: 'create', path, data: [], mode: CreateMode.persistentTtl, ttlMs: 1_000 } as const;
    });
    send({ type: 'transaction', operations });
    ensemble.clock.advance(1_000 + 4 * LATE_MS);
    expect(removals(ensemble)).toEqual([32, 28]);
  });
});
