import { CLIENT_FEATURES, CreateMode, PROTOCOL_VERSION } from '@holdfast/protocol';
import { serverId } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { encodePeerMessages } from '../../../src/peers/peer-message.ts';
import { CLUSTER_ID, ELECTION_TIMEOUT_MS, LoopbackEnsemble } from '../../support/loopback.ts';
import type { TestClient } from '../../support/test-client.ts';

/** Three servers that have had no leader for two election timeouts, after one had made a node. */
function leaderless(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  const client = ensemble.server(1).connect();
  client.attach();
  client.request(1, { type: 'create', path: '/n', data: new Uint8Array(3), mode: CreateMode.persistent });
  client.take();
  ensemble.depose();
  ensemble.clock.advance(2 * ELECTION_TIMEOUT_MS + 1);
  return ensemble;
}

function reader(ensemble: LoopbackEnsemble, id: number): TestClient {
  const client = ensemble.server(id).dial();
  const features = CLIENT_FEATURES;
  const hello = { type: 'hello', version: PROTOCOL_VERSION, features, clusterId: CLUSTER_ID, required: 0 } as const;
  client.send({ ...hello, withoutLeader: true });
  return client;
}

describe('a client that needs no leader', () => {
  it('is welcome at a server that has none, and reads what that has applied', () => {
    const ensemble = leaderless();
    const client = reader(ensemble, 2);
    client.read(1, { type: 'exists', path: '/n' }, 'local');
    const { appliedIndex } = ensemble.server(2).machine.state;
    expect(client.take()).toMatchObject([
      { type: 'welcome', server: 2, leader: 0 },
      { type: 'answer', id: 1, index: appliedIndex, answer: { type: 'exists', stat: { dataLength: 3 } } },
    ]);
  });

  it('is told of the members as that server knows them', () => {
    const ensemble = leaderless();
    const client = reader(ensemble, 2);
    client.send({ type: 'admin', id: 4, operation: { type: 'members', local: true } });
    expect(client.take().at(-1)).toMatchObject({
      type: 'admin-answer',
      id: 4,
      answer: { type: 'members', leader: 0, members: [{ server: 1 }, { server: 2 }, { server: 3 }] },
    });
  });

  it('stays when its server loses contact, while the others are sent away, and until it stops', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const [client, other] = [reader(ensemble, 2), ensemble.server(2).connect()];
    ensemble.depose();
    ensemble.clock.advance(2 * ELECTION_TIMEOUT_MS + 1);
    expect([client.open, other.open]).toEqual([true, false]);
    ensemble.server(2).machine.disconnectClients();
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'SHUTTING_DOWN' });
  });

  it('stays when the servers disagree, so that somebody can look at each', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const [client, other] = [reader(ensemble, 2), ensemble.server(2).connect()];
    ensemble.server(2).machine.peerMessage(serverId(1), encodePeerMessages([{ type: 'halted', index: 1_024 }]));
    expect([client.open, other.open]).toEqual([true, false]);
  });

  it('may make no session', () => {
    const client = reader(leaderless(), 2);
    client.sendAttach();
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'MALFORMED' });
  });

  it('is not welcome where there is no state of a cluster: at a server that waits to be added', () => {
    const ensemble = leaderless();
    ensemble.server(2).joins = true;
    expect(reader(ensemble, 2).take()).toMatchObject([{ type: 'goodbye', code: 'NO_LEADER' }]);
  });
});
