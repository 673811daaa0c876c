import { CommandType } from '@holdfast/protocol';
import { DurationHistogram, EntryType } from '@holdfast/raft';
import { encodeEntry } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { createHttpHandler } from '../../src/http/http.ts';
import { encodePeerMessages } from '../../src/peers/peer-message.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { MetricsPage } from '../../src/http/metrics-page.ts';
import { STATE_DIGEST_INTERVAL } from '../../src/limits.ts';
import { CLUSTER_ID, ELECTION_TIMEOUT_MS, LoopbackEnsemble, type LoopbackServer } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';

const histograms = {
  persisted: new DurationHistogram(),
  replicated: new DurationHistogram(),
  committed: new DurationHistogram(),
  applied: new DurationHistogram(),
};

function http(server: LoopbackServer) {
  const replica = {
    logWrites: 17,
    diskStalls: false,
    snapshotCounters: { taken: 3, installed: 1, refused: 0, overtaken: 2 },
    refusalsHeard: 5,
    silences: 6,
    elections: { timeout: 1, refused: 2, transfer: 3 },
    stageHistograms: histograms,
    transferCounts: new Map([['transferred' as const, 4]]),
  };
  const metrics = new MetricsPage(
    (renderings) => createMetrics({ id: 1, ofProcess: false, renderings }, server.machine, () => replica),
    new ManualClock(),
  );
  const handler = createHttpHandler({ id: server.id, clusterId: CLUSTER_ID }, server.machine, metrics);
  return (target: string, method = 'GET') => handler({ method, target });
}

describe('a server that has had no leader for two election timeouts', () => {
  it('sends its clients away, and new ones too, until it has one', async () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const client = ensemble.server(2).connect();
    client.attach();
    ensemble.depose();
    ensemble.clock.advance(2 * ELECTION_TIMEOUT_MS - 1);
    expect(client.open).toBe(true);
    ensemble.clock.advance(2);
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'NO_LEADER' });
    const early = ensemble.server(2).dial();
    early.hello();
    expect(early.take()).toMatchObject([{ type: 'goodbye', code: 'NO_LEADER' }]);
    expect((await http(ensemble.server(2))('/health')).status).toBe(503);
    // It must not be started again for that.
    expect((await http(ensemble.server(2))('/live')).status).toBe(200);
    ensemble.elect(3);
    const late = ensemble.server(2).connect();
    expect(late.attach()).toMatchObject({ generation: 2 });
    expect((await http(ensemble.server(2))('/health')).status).toBe(200);
  });
});

describe('a leader that has lost its quorum', () => {
  it('sends its clients away at once, and new ones until it knows a leader: those of the others stay', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const own = ensemble.server(1).connect();
    own.attach();
    const other = ensemble.server(2).connect();
    ensemble.depose(true);
    expect(own.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'NO_LEADER' });
    expect(other.open).toBe(true);
    const early = ensemble.server(1).dial();
    early.hello();
    expect(early.take()).toMatchObject([{ type: 'goodbye', code: 'NO_LEADER' }]);
    ensemble.elect(3);
    expect(ensemble.server(1).connect().attach()).toMatchObject({ generation: 2 });
  });

  it('is not taken for one that was deposed: its clients stay', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const client = ensemble.server(1).connect();
    client.attach();
    ensemble.depose();
    expect(client.open).toBe(true);
  });
});

describe('a server that stops', () => {
  it('takes no new clients and tells the others', async () => {
    const ensemble = new LoopbackEnsemble();
    ensemble.elect(1);
    const server = ensemble.server(1);
    const client = server.connect();
    server.machine.beginStop();
    const late = server.dial();
    late.hello();
    expect(late.take()).toMatchObject([{ type: 'goodbye', code: 'SHUTTING_DOWN' }]);
    expect((await http(server)('/ready')).status).toBe(503);
    client.send({ type: 'ping', id: 1 });
    server.machine.disconnectClients();
    expect(client.take()).toMatchObject([{ type: 'pong' }, { type: 'goodbye', code: 'SHUTTING_DOWN' }]);
  });
});

describe('HTTP on the client port', () => {
  it('tells whether new sessions are accepted', async () => {
    const ensemble = new LoopbackEnsemble(3);
    const ask = http(ensemble.server(2));
    expect((await ask('/ready')).status).toBe(503);
    expect((await ask('/health')).status).toBe(200);
    ensemble.elect(1);
    expect((await ask('/ready')).status).toBe(200);
  });

  it('tells the status as JSON', async () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    ensemble.server(2).connect().attach();
    const response = await http(ensemble.server(2))('/status?verbose');
    expect(response.contentType).toBe('application/json');
    expect(JSON.parse(response.body)).toMatchObject({
      id: 2,
      clusterId: CLUSTER_ID,
      role: 'follower',
      term: 1,
      leader: 1,
      commitIndex: 2,
      appliedIndex: 2,
      sessions: 1,
      locks: 0,
      connections: 1,
      boundSessions: 1,
      members: [{ id: 1, clientAddress: 'client-1:1' }, { id: 2 }, { id: 3 }],
    });
  });

  it('says that it has no metrics where it is a part of a program that has given it none', async () => {
    const server = new LoopbackEnsemble().server(1);
    const handler = createHttpHandler({ id: server.id, clusterId: CLUSTER_ID }, server.machine, undefined);
    const { status, body } = await handler({ method: 'GET', target: '/metrics' });
    expect([status, body]).toEqual([404, expect.stringContaining('has no metrics')]);
  });

  it('tells metrics in the Prometheus text format', async () => {
    const ensemble = new LoopbackEnsemble();
    ensemble.elect(1);
    const client = ensemble.server(1).connect();
    client.attach();
    client.acquire(1, 'a');
    client.take();
    const { body, contentType } = await http(ensemble.server(1))('/metrics');
    expect(contentType).toMatch(/^text\/plain/);
    expect(body).toMatch(/^holdfast_role\{role="leader",server="1"\} 1$/m);
    expect(body).toMatch(/^holdfast_applied_index\{server="1"\} 3$/m);
    expect(body).toMatch(/^holdfast_locks\{server="1"\} 1$/m);
    expect(body).toMatch(/^holdfast_log_writes_total\{server="1"\} 17$/m);
    expect(body).toMatch(/^holdfast_requests_total\{outcome="replied",server="1"\} 1$/m);
  });

  it('refuses what it does not have', async () => {
    const ask = http(new LoopbackEnsemble().server(1));
    expect((await ask('/nothing')).status).toBe(404);
    expect((await ask('/status', 'POST')).status).toBe(405);
  });
});

describe('servers that compare their states', () => {
  function fill(ensemble: LoopbackEnsemble): void {
    const entry = encodeEntry(
      { command: CommandType.cancel, session: 5, generation: 1, number: 1, ackedUpTo: 0 },
      new Uint8Array(),
    );
    while (ensemble.log.length < STATE_DIGEST_INTERVAL) ensemble.append(EntryType.command, entry);
    ensemble.clock.runChecks();
  }

  it('go on while they agree', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    fill(ensemble);
    const client = ensemble.server(2).connect();
    client.attach();
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'reply' }]);
    expect(ensemble.servers.flatMap((server) => server.failures)).toEqual([]);
  });

  it('stop the one that the leader tells that it differs', async () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    fill(ensemble);
    const told = encodePeerMessages([{ type: 'diverged', index: STATE_DIGEST_INTERVAL, digest: 1 }]);
    ensemble.server(2).receive(ensemble.server(1).id, told);
    ensemble.clock.runChecks();
    expect(ensemble.server(2).failures).toMatchObject([{ name: 'DivergenceError' }]);
    expect((await http(ensemble.server(2))('/health')).status).toBe(503);
  });

  it('refuse writes and still answer reads when no majority agrees', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const client = ensemble.server(2).connect();
    client.attach();
    const halted = encodePeerMessages([{ type: 'halted', index: STATE_DIGEST_INTERVAL }]);
    for (const server of ensemble.servers) server.receive(ensemble.server(3).id, halted);
    ensemble.clock.runChecks();
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'NO_LEADER' }]);
    const late = ensemble.server(2).connect();
    late.read(1, { type: 'exists', path: '/' });
    expect(late.take()).toMatchObject([{ type: 'answer', answer: { type: 'exists' } }]);
    late.sendAttach();
    expect(late.take()).toMatchObject([{ type: 'goodbye', code: 'NO_LEADER' }]);
  });
});
