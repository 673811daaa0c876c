import { describe, expect, it } from 'vitest';
import { ServerCounters } from '../../src/counters.ts';
import { SessionClients } from '../../src/port/session-clients.ts';
import { RequestBudget } from '../../src/requests/request-budget.ts';

function scene() {
  const eager: boolean[] = [];
  const clients = new SessionClients({
    counters: new ServerCounters(),
    requests: new RequestBudget(),
    bound() {},
    closed() {},
    boundChanged: (any) => void eager.push(any),
  });
  const state = { open: true, unreadBytes: 0, isBehind: false, hearsOfHolds: false };
  const channel = { remoteAddress: 'client:1', ...state, send() {}, goodbye() {} };
  return { clients, eager, open: () => clients.open(channel) };
}

describe('a server whose clients are not what it knows of them', () => {
  it('stops when two clients serve one session', () => {
    const { clients, open } = scene();
    const [first, second] = [open(), open()];
    clients.bind(first, 7, 1);
    // Its goodbye should have ended the first one.
    expect(() => clients.bind(second, 7, 2)).toThrow('a-session-has-one-client');
  });

  it('stops when an older attachment of a session is bound behind a newer one', () => {
    const { clients, open } = scene();
    const client = open();
    clients.bind(client, 7, 2);
    expect(() => clients.bind(client, 7, 1)).toThrow('the-generation-of-a-bound-session-rises');
  });

  it('stops when a read or a heartbeat is answered twice', () => {
    const client = scene().open();
    expect(() => client.readAnswered()).toThrow('a-read-is-answered-once');
    expect(() => client.heartbeatAnswered()).toThrow('a-heartbeat-is-answered-once');
  });
});

describe('a server with clients', () => {
  it('hears of commits at once from its first bound session to its last', () => {
    const { clients, eager, open } = scene();
    const [first, second] = [open(), open()];
    clients.bind(first, 7, 1);
    clients.bind(second, 8, 1);
    clients.close(first);
    clients.close(second);
    expect(eager).toEqual([true, false]);
  });
});
