import { serverId } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { encodePeerMessages, type PeerMessage } from '../../src/peers/peer-message.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

describe('what changes the mind of a server about the ensemble', () => {
  it.each<[string, PeerMessage]>([
    ['that the servers disagree', { type: 'halted', index: 1 }],
    ['that this server has another state', { type: 'diverged', index: 1, fold: 7 }],
    ['that a disk is almost full', { type: 'disk-report', low: true }],
  ])('counts from members only: a guest may say %s', (_, message) => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { machine } = ensemble.server(1);
    machine.peerMessage(serverId(9), encodePeerMessages([message]));
    ensemble.clock.runChecks();
    expect(machine.availability.unhealthyReason).toBeUndefined();
    expect(machine.diskGuard.problem).toBeUndefined();
  });

  it('counts from a member', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { machine } = ensemble.server(1);
    machine.peerMessage(serverId(2), encodePeerMessages([{ type: 'halted', index: 1 }]));
    expect(machine.availability.unhealthyReason).toMatch(/disagree about the state at index 1/);
  });
});
