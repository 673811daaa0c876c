/** The simulated cluster as changes of its members see it. */

import { OPERATOR_HOST } from '../../plan/plan.ts';
import type { MembersWorld } from '../members/members-world.ts';
import type { Cluster } from './cluster.ts';
import { peerAddress } from './server-host.ts';

export function simMembers(cluster: Cluster): MembersWorld {
  const { consensus, servers, scenario, transfers, world } = cluster;
  return {
    runtime: world.host(OPERATOR_HOST).runtime,
    founders: scenario.servers,
    founderMustStay: true,
    servers,
    get leader() {
      return consensus.leader;
    },
    get members() {
      const { configuration, voters } = consensus.configuration;
      return configuration?.members ?? voters.flat().map((id) => ({ id, role: 'voter' }));
    },
    clientAddresses: () => cluster.clientAddresses(),
    peerAddress,
    directoryIsKnown: (id, others) => consensus.directoryIsKnown(id, others),
    // What comes before the first entry has a term, too.
    hasNoLog: (id) => consensus.logOf(id).length === 1,
    after: (ms, action) => void world.after(ms, action),
    count: (effect) => cluster.effects.count(effect),
    changing: (by) => transfers.changing(by),
    transferring: () => transfers.disturbed(),
    removing: () => undefined,
    losingDisk: (id) => consensus.lostDisk(id),
    fail: (name, message) => cluster.fail(name, message),
  };
}
