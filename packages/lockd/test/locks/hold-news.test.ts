import {
  acquireCommand,
  ClientFeature,
  PROTOCOL_VERSION,
  type Command as AnyCommand,
  type LockRequest,
  type ServerMessage,
} from '@holdfast/protocol';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import {
  HOLD_NEWS_A_TURN,
  HOLD_NEWS_INTERVAL_MS,
  HOLD_NEWS_PAUSE_MS,
  MAX_LOCKS_WITH_NEWS,
  STATE_UPGRADE_CHECK_MS,
  STATE_UPGRADE_CHECKS,
} from '../../src/limits.ts';
import { HoldNews } from '../../src/locks/hold-news.ts';
import { CLUSTER_ID, LoopbackEnsemble } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';
import type { TestClient } from '../support/test-client.ts';

type Command = Exclude<AnyCommand, { type: 'attach' | 'expireSession' | 'refuse' }>;

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function ensembleOf(servers: number): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(servers);
  ensemble.elect(1);
  ensemble.clock.advance(LATEST_STATE_VERSION * STATE_UPGRADE_CHECK_MS * STATE_UPGRADE_CHECKS);
  return ensemble;
}

/** A client that hears of its holds, unless it says otherwise. */
class Holder {
  client: TestClient;
  readonly #secret: number;
  #number = 0;

  constructor(ensemble: LoopbackEnsemble, secret: number, server = 1, features: number = ClientFeature.floors) {
    this.#secret = secret;
    this.client = Holder.#connect(ensemble, server, features);
    this.client.attach(secret, { timeoutMs: 120_000 });
  }

  static #connect(ensemble: LoopbackEnsemble, server: number, features: number): TestClient {
    const client = ensemble.server(server).dial();
    client.hello(CLUSTER_ID, PROTOCOL_VERSION, features);
    client.take();
    return client;
  }

  /** Another connection for the session. */
  reconnect(ensemble: LoopbackEnsemble, server: number): void {
    this.client.drop();
    this.client = Holder.#connect(ensemble, server, ClientFeature.floors);
    // What comes with the answer is to be heard.
    this.client.sendAttach(this.#secret, { timeoutMs: 120_000 });
  }

  send(command: Command): ServerMessage[] {
    this.#number += 1;
    this.client.request(this.#number, command, this.#number - 1);
    return this.client.take();
  }

  /** Its acquire index. */
  acquire(request: LockRequest, lock = 'l'): number {
    const reply = this.send(acquireCommand(lock, request, true)).find(({ type }) => type === 'reply');
    if (reply?.type !== 'reply' || reply.reply.type !== 'acquire') throw new Error(JSON.stringify(reply));
    return reply.reply.acquireIndex;
  }

  release(acquireIndex: number, lock = 'l'): void {
    this.send({ type: 'release', lock, acquireIndex });
  }

  /** What has come of its holds. */
  heard(): ServerMessage[] {
    return this.client.take().filter(({ type }) => type === 'floor' || type === 'contended');
  }
}

describe('a floor that has risen', () => {
  it('is told to those who hold the lock still, wherever they are attached', () => {
    const ensemble = ensembleOf(3);
    const [first, second, third] = [1, 2, 3].map((server) => new Holder(ensemble, server, server));
    const lost = first?.acquire(READ) ?? 0;
    const kept = second?.acquire(READ);
    const last = third?.acquire(READ);
    first?.release(lost);
    expect(second?.heard()).toMatchObject([{ type: 'floor', lock: 'l', acquireIndex: kept, floor: kept }]);
    expect(third?.heard()).toMatchObject([{ type: 'floor', lock: 'l', acquireIndex: last, floor: kept }]);
    expect(first?.heard()).toEqual([]);
  });

  it('is told at most so often, and as it is then', () => {
    const ensemble = ensembleOf(1);
    const holders = [1, 2, 3, 4, 5].map((secret) => new Holder(ensemble, secret));
    const indexes = holders.map((holder) => holder.acquire(READ));
    const last = holders.at(-1);
    for (const at of [0, 1, 2, 3]) holders[at]?.release(indexes[at] ?? 0);
    expect(last?.heard()).toMatchObject([{ floor: indexes[1] }]);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS - 1);
    expect(last?.heard()).toEqual([]);
    ensemble.clock.advance(1);
    expect(last?.heard()).toMatchObject([{ floor: indexes[4] }]);
    ensemble.clock.advance(10 * HOLD_NEWS_INTERVAL_MS);
    expect(last?.heard()).toEqual([]);
  });

  it('is not told to a client that does not understand it', () => {
    const ensemble = ensembleOf(1);
    const first = new Holder(ensemble, 1);
    const old = new Holder(ensemble, 2, 1, ClientFeature.watches);
    const index = first.acquire(READ);
    old.acquire(READ);
    first.release(index);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS);
    expect(old.heard()).toEqual([]);
  });

  it('is told to a client that comes back, with what else it has missed', () => {
    const ensemble = ensembleOf(2);
    const [first, second] = [new Holder(ensemble, 1, 1), new Holder(ensemble, 2, 2)];
    const index = first.acquire(READ);
    const kept = second.acquire(READ);
    second.client.drop();
    first.release(index);
    first.acquire(WRITE);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS);
    second.reconnect(ensemble, 1);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS);
    expect(second.heard()).toMatchObject([
      { type: 'floor', acquireIndex: kept, floor: kept },
      { type: 'contended', acquireIndex: kept },
    ]);
  });
});

describe('a holder', () => {
  it('hears once that others wait, however many come', () => {
    const ensemble = ensembleOf(2);
    const [holder, a, b] = [new Holder(ensemble, 1, 2), new Holder(ensemble, 2), new Holder(ensemble, 3)];
    const acquireIndex = holder.acquire(WRITE);
    const waiting = a.acquire(WRITE);
    expect(holder.heard()).toMatchObject([{ type: 'contended', lock: 'l', acquireIndex }]);
    b.acquire(WRITE);
    a.send({ type: 'cancel', lock: 'l', acquireIndex: waiting });
    a.acquire(WRITE);
    ensemble.clock.advance(10 * HOLD_NEWS_INTERVAL_MS);
    expect(holder.heard()).toEqual([]);
  });

  it('hears it at its grant when others wait behind it', () => {
    const ensemble = ensembleOf(1);
    const [holder, next, last] = [1, 2, 3].map((secret) => new Holder(ensemble, secret));
    const held = holder?.acquire(WRITE) ?? 0;
    const acquireIndex = next?.acquire(WRITE);
    last?.acquire(WRITE);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS);
    holder?.release(held);
    expect(next?.client.take().map(({ type }) => type)).toEqual(['granted', 'contended']);
    expect(acquireIndex).toBeGreaterThan(0);
    ensemble.clock.advance(10 * HOLD_NEWS_INTERVAL_MS);
    expect(next?.heard()).toEqual([]);
  });

  it('hears it of each of its holds, and again of later ones of the same lock', () => {
    const ensemble = ensembleOf(1);
    const [holder, other] = [new Holder(ensemble, 1), new Holder(ensemble, 2)];
    const first = holder.acquire(READ);
    const second = holder.acquire(READ);
    const waiting = other.acquire(WRITE);
    expect(holder.heard().map((message) => 'acquireIndex' in message && message.acquireIndex)).toEqual([first, second]);
    other.send({ type: 'cancel', lock: 'l', acquireIndex: waiting });
    const third = holder.acquire(READ);
    other.acquire(WRITE);
    ensemble.clock.advance(HOLD_NEWS_INTERVAL_MS);
    expect(holder.heard()).toMatchObject([{ type: 'contended', acquireIndex: third }]);
  });
});

describe('news of very many holds', () => {
  /** One lock that so many sessions hold, or so many locks that one session holds. */
  function scene(hold: (session: number) => { lock: string; acquireIndex: number }[], sessions: number) {
    const clock = new ManualClock();
    const told: ServerMessage[] = [];
    const clients = Array.from({ length: sessions }, (_, at) => ({
      session: at + 1,
      hearsOfHolds: true,
      isBehind: false,
      send: (message: ServerMessage) => void told.push(message),
    }));
    const place = (session: number, { lock, acquireIndex }: { lock: string; acquireIndex: number }) => {
      return { session, lock, acquireIndex, floor: 1, contended: true };
    };
    const all = clients.flatMap(({ session }) => hold(session).map((each) => place(session, each)));
    const state = {
      appliedIndex: 9,
      lockHolds: (lock: string, after: number, count: number) => {
        const holds = all.filter((each) => each.lock === lock && each.acquireIndex > after);
        return { holds: holds.slice(0, count), more: holds.length > count };
      },
      sessionHolds: (session: number) => all.filter((each) => each.session === session),
    };
    const bySession = (session: number) => clients[session - 1];
    const table = { bySession, [Symbol.iterator]: () => clients.values() };
    const news = new HoldNews({ clock, state, clients: table as never });
    return { clock, told, clients, news };
  }

  it('goes out in pieces, with a rest between them', () => {
    const count = 2 * HOLD_NEWS_A_TURN + 10;
    const { clock, told, news } = scene((session) => [{ lock: 'l', acquireIndex: session }], count);
    news.floorRaised('l');
    news.endOfTurn();
    expect(told.length).toBeLessThanOrEqual(HOLD_NEWS_A_TURN);
    clock.advance(10 * HOLD_NEWS_PAUSE_MS);
    expect(told).toHaveLength(count);
    expect(new Set(told.map((message) => 'acquireIndex' in message && message.acquireIndex)).size).toBe(count);
  });

  it('of more locks than are kept is found with their holders', () => {
    const count = MAX_LOCKS_WITH_NEWS + 5;
    const holds = Array.from({ length: count }, (_, at) => ({ lock: `l${at}`, acquireIndex: at + 1 }));
    const { clock, told, news } = scene(() => holds, 1);
    for (const { lock } of holds) news.contended(lock);
    news.endOfTurn();
    clock.advance(HOLD_NEWS_INTERVAL_MS);
    const contended = told.filter(({ type }) => type === 'contended');
    expect(contended).toHaveLength(count);
  });

  it('waits for a client that has much to read', () => {
    const { clock, told, clients, news } = scene((session) => [{ lock: 'l', acquireIndex: session }], 1);
    const [client] = clients;
    if (client === undefined) throw new Error('there is no client');
    client.isBehind = true;
    news.contended('l');
    news.endOfTurn();
    clock.advance(3 * HOLD_NEWS_INTERVAL_MS);
    expect(told).toEqual([]);
    client.isBehind = false;
    clock.advance(HOLD_NEWS_INTERVAL_MS);
    expect(told.map(({ type }) => type)).toEqual(['floor', 'contended']);
  });

  it('ends with the server', () => {
    const { clock, told, news } = scene((session) => [{ lock: 'l', acquireIndex: session }], 1);
    news.contended('l');
    news.stop();
    news.endOfTurn();
    clock.advance(HOLD_NEWS_INTERVAL_MS);
    expect(told).toEqual([]);
  });
});
