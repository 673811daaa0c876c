import { describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIGURATION,
  MAX_MEMBERS,
  initialConfiguration,
  logIndex,
  serverId,
  type Configuration,
} from '../../src/core/index.ts';
import { admissionProblem, type MembershipView } from '../../src/peers/peer-admission.ts';
import { PEER_PROTOCOL_VERSION, type PeerHello } from '../../src/peers/peer-codec.ts';
import { PEER_FEATURES } from '../../src/peers/peer-features.ts';

const OWN = serverId(40);

function hello(from: number, fields: Partial<PeerHello> = {}): PeerHello {
  return {
    version: PEER_PROTOCOL_VERSION,
    features: PEER_FEATURES,
    clusterId: 'prod',
    from: serverId(from),
    to: OWN,
    incarnation: `disk-${from}`,
    clientAddress: '',
    purpose: 'log',
    required: PEER_FEATURES,
    peerAddress: `host:${from}`,
    configurationIndex: logIndex(7),
    ...fields,
  };
}

function at(configuration: Configuration, index = 0): MembershipView {
  return { latest: { index: logIndex(index), configuration }, committed: configuration };
}

function guests(...ids: readonly number[]): ReadonlySet<ReturnType<typeof serverId>> {
  return new Set(ids.map((id) => serverId(id)));
}

const members = Array.from({ length: MAX_MEMBERS - 1 }, (_, n) => n + 1);

describe('a server that waits to be added', () => {
  const waits = at(EMPTY_CONFIGURATION);

  it('hears all members of the largest cluster, whoever of them leads', () => {
    for (const id of members) {
      const others = guests(...members.filter((other) => other !== id));
      expect(admissionProblem(waits, OWN, hello(id), others), `server ${id}`).toBeUndefined();
    }
  });

  it('lets one that it hears bring a snapshot as well, however many it hears', () => {
    const all = guests(...Array.from({ length: MAX_MEMBERS }, (_, n) => n + 1));
    expect(admissionProblem(waits, OWN, hello(3, { purpose: 'snapshot' }), all)).toBeUndefined();
    expect(admissionProblem(waits, OWN, hello(MAX_MEMBERS + 1), all)).toMatch(/31 servers that are no members/);
  });
});

describe('a member', () => {
  const view = at(initialConfiguration([1, 2].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` }))), 7);

  it('hears no stranger whose configuration is no newer than its own', () => {
    expect(admissionProblem(view, serverId(1), hello(9), guests())).toMatch(/server 9 is no member/);
    expect(
      admissionProblem(view, serverId(1), hello(9, { configurationIndex: logIndex(8) }), guests()),
    ).toBeUndefined();
  });

  it('refuses a removed server, and a known one with another data directory, by a code', () => {
    const [one, two] = view.latest.configuration.members;
    if (one === undefined || two === undefined) throw new Error('there are two');
    const known = at({ members: [one, { ...two, incarnation: 'disk-of-old' }], retired: [serverId(5)] }, 7);
    expect(admissionProblem(known, serverId(1), hello(5), guests())).toMatch(/^MEMBER_REMOVED: /);
    expect(admissionProblem(known, serverId(1), hello(2), guests())).toMatch(/^WRONG_INCARNATION: /);
    expect(admissionProblem(known, serverId(1), hello(2, { incarnation: 'disk-of-old' }), guests())).toBeUndefined();
  });
});
