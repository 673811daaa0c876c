/** Schedules of a cluster of bare cores that are drawn from its seed, and what a cluster that is healed must do. */

import { expect } from 'vitest';
import { EntryType } from '../../../src/core/index.ts';
import { CoreCluster, type ClusterOptions } from './core-cluster.ts';

/** Faults, proposals, reads and transfers drawn from the seed, then a healed cluster. */
export function runSchedule(options: ClusterOptions, also: (cluster: CoreCluster) => void = () => {}): CoreCluster {
  const cluster = new CoreCluster(options);
  let proposed = 0;
  for (let step = 0; step < 120; step += 1) {
    disturb(cluster, 1 + Math.floor(cluster.random() * cluster.ids.length));
    also(cluster);
    for (const down of cluster.nodes) if (!down.up && cluster.random() < 0.15) cluster.restart(down.id);
    // Every server that believes to lead is asked, the deposed one as well.
    const asked = cluster.nodes.filter((node) => node.up && node.core.status.role === 'leader');
    for (let count = Math.floor(cluster.random() * 4); count > 0; count -= 1) {
      const node = asked[Math.floor(cluster.random() * asked.length)] ?? cluster.node(1);
      if (node.up) cluster.propose(node.id, `command ${proposed}`);
      proposed += 1;
    }
    for (const { id, up } of cluster.nodes) {
      if (up && cluster.random() < 0.3) cluster.event(id, { type: 'read-index', ticket: step });
    }
    cluster.run(cluster.random() * (cluster.random() < 0.5 ? 20 : 600));
  }
  cluster.readsSteadily = false;
  // Half of the time nobody hears that messages were lost.
  cluster.heal(cluster.random() < 0.5);
  for (const node of cluster.nodes) {
    if (!node.up) cluster.restart(node.id);
    else if (node.paused) cluster.resume(node.id);
  }
  return cluster;
}

function disturb(cluster: CoreCluster, victim: number): void {
  const draw = cluster.random();
  const node = cluster.node(victim);
  if (draw < 0.1) cluster.crash(victim, cluster.random() < 0.5);
  else if (draw < 0.15) cluster.isolate(victim);
  else if (draw < 0.2) cluster.cut(victim, 1 + Math.floor(cluster.random() * cluster.ids.length));
  else if (draw < 0.3) cluster.heal(cluster.random() < 0.5);
  else if (draw < 0.35) cluster.pause(victim);
  else if (draw < 0.45 && node.paused) cluster.resume(victim);
  else if (draw < 0.5) cluster.transfer(victim);
  else if (draw < 0.55 && node.up) cluster.event(victim, { type: 'eager-commit', eager: cluster.random() < 0.5 });
  else if (draw < 0.6) for (const { id } of cluster.nodes) cluster.crash(id);
}

/** A healed cluster has a leader soon, serves, brings everyone up to date and leaves nothing waiting. */
export function expectService(cluster: CoreCluster, seed: number): void {
  const elected = cluster.run(20_000, () => cluster.leader !== undefined);
  expect(elected, `seed ${seed}: no leader after healing`).toBe(true);
  const served = () => {
    const last = cluster.committed.findLast(({ type }) => type === EntryType.command);
    if (last === undefined || !new TextDecoder().decode(last.data).startsWith('last')) return false;
    const { members } = cluster.configuration;
    return members.every(({ id }) => cluster.node(id).appliedIndex === cluster.committed.length);
  };
  // A proposal may fall to a leader that is just being deposed.
  for (let attempt = 0; attempt < 8 && !served(); attempt += 1) {
    if (cluster.leader !== undefined) cluster.propose(cluster.leader.id, `last ${attempt}`);
    cluster.run(4_000, served);
  }
  expect(served(), `seed ${seed}: the healed cluster does not serve`).toBe(true);
  cluster.run(3_000);
  cluster.checkOutcomes();
}
