import { ClientFeature, PROTOCOL_VERSION } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { CLUSTER_ID, LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

function welcomed(ensemble: LoopbackEnsemble): TestClient {
  const client = ensemble.server(1).dial();
  const features = ClientFeature.leave;
  client.send({ type: 'hello', version: PROTOCOL_VERSION, features, clusterId: CLUSTER_ID, required: 0 });
  ensemble.clock.runChecks();
  client.take();
  return client;
}

/** The server knows of no leader, and stops. */
function stopWithoutLeader(ensemble: LoopbackEnsemble): void {
  ensemble.depose();
  void ensemble.server(1).machine.moveClients();
  ensemble.clock.runChecks();
}

describe('a server that stops and knows no leader', () => {
  it('moves its clients when it was removed: the others have a leader of whom it is not told', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const client = welcomed(ensemble);
    ensemble.server(1).machine.removed();
    stopWithoutLeader(ensemble);
    expect(client.take()).toContainEqual({ type: 'leave' });
  });

  it('keeps them otherwise: no other could serve them', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const client = welcomed(ensemble);
    stopWithoutLeader(ensemble);
    expect(client.take()).not.toContainEqual({ type: 'leave' });
  });
});
