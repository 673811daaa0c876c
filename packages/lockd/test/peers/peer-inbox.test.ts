import { serverId } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import type { PeerHandlers } from '../../src/machine/server-part.ts';
import { PeerInbox } from '../../src/peers/peer-inbox.ts';
import { PEER_MESSAGE_TYPES, encodePeerMessages, type PeerMessage } from '../../src/peers/peer-message.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

describe('what changes the mind of a server about the ensemble', () => {
  it.each<[string, PeerMessage]>([
    ['that the servers disagree', { type: 'halted', index: 1 }],
    ['that this server has another state', { type: 'diverged', index: 1, digest: 7 }],
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

describe('the messages of peers', () => {
  const inbox = (): PeerInbox => new PeerInbox({ isMember: () => true, connectionLost() {} });
  const all = (): PeerHandlers => Object.fromEntries(PEER_MESSAGE_TYPES.map((type) => [type, () => {}]));

  it('have a part each that handles them, or the server does not start', () => {
    const { forward: _, ...rest } = all();
    expect(() => inbox().install([{ peerMessages: all() }])).not.toThrow();
    expect(() => inbox().install([{ peerMessages: rest }])).toThrow(/each-peer-message-has-a-handler.*forward/);
  });

  it('have no second one', () => {
    const twice = [{ peerMessages: all() }, { memberMessages: { 'state-digest'() {} } }];
    expect(() => inbox().install(twice)).toThrow(/each-peer-message-has-one-handler.*state-digest/);
  });
});
