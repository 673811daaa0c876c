import { CommandType, CreateMode, type ServerMessage } from '@holdfast/protocol';
import { decodeEntryHeader } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { createHttpHandler } from '../../src/http/http.ts';
import { DISK_TRANSFER_PAUSE_MS, MAX_DISK_REFUSALS, MAX_DISK_SESSIONS } from '../../src/limits.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { MetricsPage } from '../../src/http/metrics-page.ts';
import { CLUSTER_ID, LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

/** Led by server 1. */
function trio(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  return ensemble;
}

/** The disks of these servers are low, those of the others are not, and every server has asked its own. */
function lowAre(ensemble: LoopbackEnsemble, ...low: number[]): void {
  for (const server of ensemble.servers) server.disk.low = low.includes(server.id);
  // Twice: the leader judges by what the others have reported.
  for (let times = 0; times < 2; times += 1) {
    for (const server of ensemble.servers) server.machine.diskGuard.checked();
    ensemble.clock.runChecks();
  }
}

function attached(ensemble: LoopbackEnsemble, id: number, secret = 1): TestClient {
  const client = ensemble.server(id).connect();
  client.attach(secret);
  return client;
}

/** `number outcome` of each reply. */
function outcomes(messages: readonly ServerMessage[]): string[] {
  return messages.flatMap((message) => {
    if (message.type !== 'reply') return [];
    const { number, reply } = message;
    return [`${number} ${reply.type === 'error' ? reply.code : reply.type}`];
  });
}

function http(ensemble: LoopbackEnsemble, id: number) {
  const { machine } = ensemble.server(id);
  const metrics = new MetricsPage(
    (renderings) => createMetrics({ id, ofProcess: false, renderings }, machine, () => undefined),
    ensemble.clock,
  );
  const handler = createHttpHandler({ id, clusterId: CLUSTER_ID }, machine, metrics);
  return async (target: string) => {
    const { status, body } = await handler({ method: 'GET', target });
    return { status, body: String(body) };
  };
}

describe('a leader that refuses for lack of disk', () => {
  it.each([1, 2])('answers what needs more of it DISK_FULL, through server %i, and does the rest', (through) => {
    const ensemble = trio();
    const client = attached(ensemble, through);
    client.acquire(1, 'a');
    client.request(2, { type: 'create', path: '/n', data: new Uint8Array(), mode: CreateMode.persistent });
    client.take();
    lowAre(ensemble, 1, 2, 3);
    const acquireIndex = ensemble.server(1).machine.state.appliedIndex - 1;
    client.acquire(3, 'b');
    client.request(4, { type: 'set', path: '/n', data: new Uint8Array(1), version: -1 });
    client.request(5, { type: 'create', path: '/m', data: new Uint8Array(), mode: CreateMode.persistent });
    client.request(6, { type: 'release', lock: 'a', acquireIndex });
    client.request(7, { type: 'delete', path: '/n', version: -1 });
    client.request(8, { type: 'closeSession', session: 0 });
    expect(outcomes(client.take())).toEqual([
      '3 DISK_FULL',
      '4 DISK_FULL',
      '5 DISK_FULL',
      '6 done',
      '7 done',
      '8 done',
    ]);
    expect(ensemble.server(3).machine.state.counts).toMatchObject({ sessions: 0, locks: 0 });
  });

  it('goes on with reads, renewals and expiry', () => {
    const ensemble = trio();
    const [client, silent] = [attached(ensemble, 2), attached(ensemble, 3, 2)];
    lowAre(ensemble, 1, 2, 3);
    client.read(1, { type: 'exists', path: '/holdfast/locks' });
    client.heartbeat(1);
    expect(client.take().map(({ type }) => type)).toEqual(expect.arrayContaining(['answer', 'renewed']));
    for (let second = 0; second < 4; second += 1) {
      ensemble.clock.advance(1_000);
      client.heartbeat(2 + second);
      client.take();
    }
    expect(silent.take().map(({ type }) => type)).toContain('ended');
    expect(ensemble.server(1).machine.state.counts.sessions).toBe(1);
  });

  it('writes a bounded number of refusals between two checks, and asks for the rest again', () => {
    const ensemble = trio();
    lowAre(ensemble);
    const client = attached(ensemble, 2);
    lowAre(ensemble, 1, 2, 3);
    const before = ensemble.log.length;
    for (let number = 1; number <= MAX_DISK_REFUSALS + 50; number += 1) client.acquire(number, 'a');
    const messages = client.take();
    expect(messages.filter(({ type }) => type === 'resend')).toMatchObject([{ type: 'resend', code: 'DISK_FULL' }]);
    expect(outcomes(messages)).toHaveLength(MAX_DISK_REFUSALS);
    const added = ensemble.log.slice(before).map(({ data }) => decodeEntryHeader(data).command);
    expect(added).toEqual(Array.from({ length: MAX_DISK_REFUSALS }, () => CommandType.refuse));
    lowAre(ensemble, 1, 2, 3);
    const next = MAX_DISK_REFUSALS + 1;
    client.acquire(next, 'a');
    expect(outcomes(client.take())).toEqual([`${next} DISK_FULL`]);
  });

  it('proposes what other sessions give back behind a refused request of the same message', () => {
    const ensemble = trio();
    const [flood, holder] = [attached(ensemble, 2), attached(ensemble, 2, 2)];
    holder.acquire(1, 'a');
    holder.take();
    const acquireIndex = ensemble.log.length;
    lowAre(ensemble, 1, 2, 3);
    for (let number = 1; number <= MAX_DISK_REFUSALS + 1; number += 1) flood.acquire(number, 'b');
    holder.request(2, { type: 'release', lock: 'a', acquireIndex });
    expect(outcomes(holder.take())).toEqual(['2 done']);
  });

  it('tells each its own when neither a refusal for another server nor what its own client gives back gets into the log', () => {
    const ensemble = trio();
    const [near, far] = [attached(ensemble, 1), attached(ensemble, 2, 2)];
    near.acquire(1, 'a');
    near.take();
    const acquireIndex = ensemble.log.length;
    lowAre(ensemble, 1, 2, 3);
    ensemble.rejectWith = 'overloaded';
    far.acquire(1, 'b');
    expect(far.take()).toMatchObject([{ type: 'resend', from: 1, code: 'OVERLOADED' }]);
    near.request(2, { type: 'release', lock: 'a', acquireIndex });
    expect(near.take()).toMatchObject([{ type: 'resend', from: 2, code: 'OVERLOADED' }]);
  });

  it('takes no new session and says why, and takes back one that exists', async () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    lowAre(ensemble, 1, 2, 3);
    const late = ensemble.server(2).connect();
    late.sendAttach(9);
    const refused = { type: 'error', code: 'DISK_FULL', message: expect.stringContaining('disk of server 1') };
    expect(late.take()).toMatchObject([{ type: 'attached', reply: refused }]);
    client.drop();
    expect(ensemble.server(3).connect().attach(1)).toMatchObject({ generation: 2 });
    const ready = await http(ensemble, 2)('/ready');
    expect(ready.status).toBe(503);
    expect(ready.body).toContain('the disk of server 1 is almost full');
  });

  it('lets in a few new sessions that are to give something back, and refuses them what needs disk', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    client.request(1, { type: 'create', path: '/n', data: new Uint8Array(9), mode: CreateMode.persistent });
    client.take();
    lowAre(ensemble, 1, 2, 3);
    const giver = ensemble.server(2).connect();
    giver.attach(9, { givesBack: true });
    giver.request(1, { type: 'create', path: '/m', data: new Uint8Array(), mode: CreateMode.persistent });
    giver.request(2, { type: 'delete', path: '/n', version: -1 });
    giver.request(3, { type: 'closeSession', session: 0 });
    expect(outcomes(giver.take())).toEqual(['1 DISK_FULL', '2 done', '3 done']);
  });

  it('lets in a bounded number of those between two checks, and not one more', () => {
    const ensemble = trio();
    lowAre(ensemble, 1, 2, 3);
    for (let secret = 1; secret <= MAX_DISK_SESSIONS; secret += 1) {
      ensemble.server(2).connect().attach(secret, { givesBack: true });
    }
    const late = ensemble.server(2).connect();
    late.sendAttach(99, { givesBack: true });
    expect(late.take()).toMatchObject([{ type: 'attached', reply: { type: 'error', code: 'DISK_FULL' } }]);
    lowAre(ensemble, 1, 2, 3);
    expect(late.attach(99, { givesBack: true })).toMatchObject({ generation: 1 });
  });

  it('accepts writes again when there is room', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    lowAre(ensemble, 1, 2, 3);
    client.acquire(1, 'a');
    expect(outcomes(client.take())).toEqual(['1 DISK_FULL']);
    lowAre(ensemble, 3);
    client.acquire(2, 'a');
    expect(outcomes(client.take())).toEqual(['2 acquire']);
    expect(attached(ensemble, 3, 7).open).toBe(true);
  });
});

describe('writes', () => {
  it.each([
    ['a follower alone', [2], 0],
    ['both followers', [2, 3], 2],
    ['the leader and a follower', [1, 3], 1],
    ['all', [1, 2, 3], 1],
  ])('with a low disk of %s are refused because of server…', (_whose, low, shortOf) => {
    const ensemble = trio();
    lowAre(ensemble, ...low);
    for (const server of ensemble.servers) expect(server.machine.diskGuard.shortOf).toBe(shortOf);
  });

  it('are refused by a new leader as soon as it knows that its own disk is low', () => {
    const ensemble = trio();
    lowAre(ensemble, 2, 3);
    ensemble.depose();
    expect(ensemble.server(2).machine.diskGuard.shortOf).toBe(0);
    ensemble.elect(2);
    for (const server of ensemble.servers) expect(server.machine.diskGuard.shortOf).toBe(2);
  });
});

describe('a leader whose disk alone is low', () => {
  it('transfers leadership, refuses while that does not happen, and tries again later', () => {
    const ensemble = trio();
    lowAre(ensemble);
    const leader = ensemble.server(1);
    leader.disk.low = true;
    const check = (): void => {
      leader.machine.diskGuard.checked();
      ensemble.clock.runChecks();
    };
    check();
    expect([leader.transfers, leader.machine.diskGuard.shortOf]).toEqual([1, 0]);
    check();
    expect([leader.transfers, leader.machine.diskGuard.shortOf]).toEqual([1, 1]);
    ensemble.clock.advance(DISK_TRANSFER_PAUSE_MS);
    check();
    expect(leader.transfers).toBe(2);
    ensemble.elect(2);
    expect(ensemble.server(2).machine.diskGuard.shortOf).toBe(0);
  });

  it('keeps it when too few others are known to have room', () => {
    const ensemble = trio();
    ensemble.server(1).disk.low = true;
    ensemble.server(1).machine.diskGuard.checked();
    ensemble.clock.runChecks();
    expect(ensemble.server(1).transfers).toBe(0);
    expect(ensemble.server(3).machine.diskGuard.shortOf).toBe(1);
  });
});

describe('what operators see of the disks', () => {
  it('is in status, health and metrics of every server', async () => {
    const ensemble = trio();
    lowAre(ensemble, 2, 3);
    const [first, second] = [http(ensemble, 1), http(ensemble, 2)];
    const { freeBytes, reserveBytes } = ensemble.server(1).disk;
    const disk = { freeBytes, reserveBytes, low: false, writesRefusedFor: 2 };
    expect(JSON.parse((await first('/status')).body)).toMatchObject({ disk });
    const health = await second('/health');
    expect(health.status).toBe(200);
    expect(JSON.parse(health.body)).toMatchObject({ status: 'ok', warning: expect.stringContaining('server 2') });
    const metrics = (await second('/metrics')).body;
    expect(metrics).toContain(`holdfast_disk_free_bytes{server="2"} ${freeBytes}`);
    expect(metrics).toContain('holdfast_disk_low{server="2"} 1');
    expect(metrics).toContain('holdfast_writes_refused_for{server="2"} 2');
    attached(trio(), 1);
    lowAre(ensemble, 2);
    expect(JSON.parse((await second('/health')).body)).toMatchObject({
      warning: expect.stringContaining('this server'),
    });
    lowAre(ensemble);
    expect(JSON.parse((await second('/health')).body)).toEqual({ status: 'ok', role: 'follower' });
  });
});
