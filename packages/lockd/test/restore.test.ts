/** A follower that gets its leader's state in place of entries: what its clients, its readers and its leases hear of those. */

import { CreateMode, type ServerMessage } from '@holdfast/protocol';
import { logIndex } from '@holdfast/raft';
import { SnapshotError } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { ATTACH_RETRY_MS } from '../src/limits.ts';
import { LoopbackEnsemble, type LoopbackServer } from './support/loopback.ts';
import type { TestClient } from './support/test-client.ts';

interface Scene {
  readonly ensemble: LoopbackEnsemble;
  readonly leader: LoopbackServer;
  /** Applies nothing any more. */
  readonly behind: LoopbackServer;
  /** Of the leader, with a session. */
  readonly other: TestClient;
  /** Of the server that is behind, with a session. */
  readonly client: TestClient;
  readonly session: number;
}

/** `before` happens while nobody is behind. */
function scene(before?: (other: TestClient, client: TestClient) => void): Scene {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  const [leader, behind] = [ensemble.server(1), ensemble.server(2)];
  const other = leader.connect();
  other.attach(1);
  const client = behind.connect();
  const { session } = client.attach(2);
  before?.(other, client);
  other.take();
  client.take();
  behind.lagging = true;
  return { ensemble, leader, behind, other, client, session };
}

/** The acquire index that a reply tells. */
function acquired(messages: readonly ServerMessage[]): number {
  for (const message of messages) {
    if (message.type === 'reply' && message.reply.type === 'acquire') return message.reply.acquireIndex;
  }
  throw new Error(`no acquire was answered: ${JSON.stringify(messages)}`);
}

async function caughtUp({ behind, leader, client }: Scene): Promise<ServerMessage[]> {
  client.take();
  await behind.install(leader);
  behind.lagging = false;
  return client.take();
}

describe('a client of a server that skips entries', () => {
  it('is told of the grant of its wait', async () => {
    let held = 0;
    let waiting = 0;
    const at = scene((other, client) => {
      other.acquire(1, 'lock');
      held = acquired(other.take());
      client.acquire(1, 'lock');
      waiting = acquired(client.take());
    });
    at.other.request(2, { type: 'release', lock: 'lock', acquireIndex: held });
    at.other.take();
    const { length: index } = at.ensemble.log;
    expect(await caughtUp(at)).toEqual([{ type: 'granted', index, lock: 'lock', acquireIndex: waiting, token: index }]);
  });

  it('hears nothing when nothing has come to it', async () => {
    const at = scene((other, client) => {
      client.acquire(1, 'lock');
    });
    at.other.acquire(1, 'another');
    expect(await caughtUp(at)).toEqual([]);
    at.client.acquire(2, 'third');
    expect(at.client.take()).toMatchObject([{ type: 'reply', number: 2 }]);
  });

  it('is told that its session has ended', async () => {
    const at = scene();
    at.other.request(1, { type: 'closeSession', session: at.session });
    at.other.take();
    expect(await caughtUp(at)).toMatchObject([{ type: 'ended', reason: 'expired' }]);
    expect(at.behind.machine.clients.boundSessions).toBe(0);
  });

  it('is told that its hold was revoked', async () => {
    let acquireIndex = 0;
    const at = scene((other, client) => {
      client.acquire(1, 'lock');
      acquireIndex = acquired(client.take());
    });
    at.other.request(1, { type: 'delete', path: '/holdfast/locks/lock/q-0000000000', version: -1 });
    at.other.take();
    expect(await caughtUp(at)).toMatchObject([{ type: 'lost', lock: 'lock', acquireIndex, reason: 'revoked' }]);
  });

  it('is sent away when its session was attached elsewhere', async () => {
    const at = scene();
    at.ensemble.server(3).connect().attach(2);
    expect(await caughtUp(at)).toMatchObject([{ type: 'goodbye', code: 'SESSION_MOVED' }]);
  });

  it('is asked for its unanswered requests again, and gets their answers [pending-client-purged-by-snapshot]', async () => {
    const at = scene();
    at.client.acquire(1, 'lock');
    at.client.acquire(2, 'another');
    expect(at.client.take()).toEqual([]);
    expect(at.ensemble.log.length).toBeGreaterThan(at.behind.machine.state.appliedIndex);
    expect(await caughtUp(at)).toMatchObject([{ type: 'resend', from: 1 }]);
    const before = at.behind.machine.state.counts;
    at.client.acquire(1, 'lock');
    at.client.acquire(2, 'another');
    const answers = at.client.take();
    expect(answers).toMatchObject([
      { type: 'reply', number: 1, reply: { type: 'acquire' } },
      { type: 'reply', number: 2, reply: { type: 'acquire' } },
    ]);
    expect(at.behind.machine.state.counts).toEqual(before);
  });

  it('attaches again when nobody can say whether it has released its hold or lost it', async () => {
    let acquireIndex = 0;
    const at = scene((other, client) => {
      client.acquire(1, 'lock');
      acquireIndex = acquired(client.take());
    });
    at.client.request(2, { type: 'release', lock: 'lock', acquireIndex });
    expect(await caughtUp(at)).toMatchObject([{ type: 'goodbye', code: 'NOT_CAUGHT_UP' }]);
    const again = at.behind.connect();
    expect(again.attach(2)).toMatchObject({ session: at.session, lastApplied: 2, acquires: [] });
  });

  it('that was attaching is attached', async () => {
    const at = scene();
    const late = at.behind.connect();
    late.sendAttach(3);
    await caughtUp(at);
    expect(at.behind.machine.state.counts.sessions).toBe(3);
    at.ensemble.clock.advance(ATTACH_RETRY_MS);
    const attached = late.take().find((message) => message.type === 'attached');
    expect(attached).toMatchObject({ reply: { type: 'attached', generation: 2 } });
    late.acquire(1, 'lock');
    expect(late.take()).toMatchObject([{ type: 'reply', number: 1 }]);
  });
});

describe('a server that skips entries', () => {
  it('answers the reads that waited for them', async () => {
    const at = scene();
    at.other.request(1, { type: 'create', path: '/a', data: new Uint8Array(), mode: CreateMode.persistent });
    at.other.take();
    at.client.read(7, { type: 'exists', path: '/a' });
    expect(at.client.take()).toEqual([]);
    expect(await caughtUp(at)).toMatchObject([
      { type: 'answer', id: 7, index: at.ensemble.log.length, answer: { type: 'exists', stat: { version: 0 } } },
    ]);
  });

  it('gives the sessions in it their full time when it leads, and then ends them', async () => {
    const at = scene();
    const born = at.leader.connect();
    const { session } = born.attach(4, { timeoutMs: 1_000 });
    await caughtUp(at);
    at.ensemble.elect(2);
    at.ensemble.clock.advance(900);
    expect(at.behind.machine.state.session(session)).toBeDefined();
    at.ensemble.clock.advance(300);
    at.client.take();
    expect(at.behind.machine.state.session(session)).toBeUndefined();
  });

  it('goes on with the entries behind it as the others do', async () => {
    const at = scene();
    at.other.acquire(1, 'lock');
    at.other.take();
    await caughtUp(at);
    at.client.acquire(1, 'lock');
    at.client.take();
    at.other.request(2, { type: 'closeSession', session: 0 });
    at.other.take();
    expect(at.client.take()).toMatchObject([{ type: 'granted', lock: 'lock' }]);
    const [first, second] = [at.leader.machine.state, at.behind.machine.state];
    expect([second.appliedIndex, second.digest]).toEqual([first.appliedIndex, first.digest]);
  });

  it('keeps what it has when the snapshot is not sound', async () => {
    const at = scene();
    const { appliedIndex, digest } = at.behind.machine.state;
    async function* rubbish(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(200);
    }
    await expect(at.behind.machine.restore(logIndex(9), rubbish())).rejects.toThrow(SnapshotError);
    expect(at.behind.machine.state).toMatchObject({ appliedIndex, digest });
    expect(at.client.take()).toEqual([]);
  });
});
