/** Changes of the members, drawn from the seed of a cluster of bare cores. */

import type { MembershipChange } from '../../../src/core/index.ts';
import type { CoreCluster } from './core-cluster.ts';

const MAX_MEMBERS = 7;

/** One change now and then, asked of every server that believes to lead. Ids are used once, so the spares are taken in their order. */
export function changes(): (cluster: CoreCluster) => void {
  let added = 0;
  return (cluster) => {
    if (cluster.random() > 0.35) return;
    for (const { id, up, core } of cluster.nodes) {
      if (!up || core.status.role !== 'leader') continue;
      const { members } = core.configuration.configuration;
      const draw = cluster.random();
      const member = members[Math.floor(cluster.random() * members.length)];
      let change: MembershipChange | undefined;
      if (draw < 0.45 && members.length < MAX_MEMBERS) {
        const next = cluster.ids[cluster.options.servers + added];
        if (next !== undefined) change = { type: 'add', id: next, peerAddress: `host:${next}`, observer: draw < 0.1 };
        if (cluster.random() < 0.8) added += 1;
      } else if (member !== undefined) {
        change = draw < 0.6 ? { type: 'promote', id: member.id } : { type: 'remove', id: member.id };
      }
      if (change !== undefined) cluster.change(id, change);
    }
  };
}
