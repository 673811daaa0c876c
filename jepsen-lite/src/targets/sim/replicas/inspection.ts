/** What is asked of the replicas of a simulated world: who serves, whether all have everything, and what each has in the end. */

import type { GroupFacts } from '@holdfast/fenced-kv/replication';
import { QUIET_MS } from '../../phases.ts';
import type { Cluster } from '../cluster.ts';

type Replicas = Pick<Cluster, 'replicas'>;

/** The replica of the highest epoch that serves. */
export function primaryOf({ replicas }: Replicas): string | undefined {
  const serving = [...replicas].filter(([, { facts }]) => facts?.role === 'primary');
  return serving.toSorted(([, a], [, b]) => (b.facts?.epoch ?? 0) - (a.facts?.epoch ?? 0))[0]?.[0];
}

/** One serves, all are in sync, and each has all of the log. */
function agree({ replicas }: Replicas): boolean {
  const facts = [...replicas.values()].flatMap((replica): GroupFacts[] =>
    replica.facts === undefined ? [] : [replica.facts],
  );
  const primary = facts.find(({ role }) => role === 'primary');
  if (primary === undefined || facts.length < replicas.size || primary.inSync.length < replicas.size) return false;
  return facts.every(({ epoch, lastIndex }) => epoch === primary.epoch && lastIndex === primary.lastIndex);
}

/** Stops them when they agree: they hold sessions and a lock as long as they run. Then tells what each has. */
export async function endReplicas(cluster: Cluster): Promise<void> {
  const { replicas } = cluster;
  if (replicas.size === 0) return;
  if (!(await cluster.runUntil(() => agree(cluster), QUIET_MS))) {
    cluster.fail(
      'replicas-have-everything',
      `not ${QUIET_MS} ms after clients have ended: ${describeReplicas(cluster).join('; ')}`,
    );
    return;
  }
  let running = replicas.size;
  for (const replica of replicas.values()) {
    replica.stop(() => {
      running -= 1;
    });
  }
  if (!(await cluster.runUntil(() => running === 0, QUIET_MS))) {
    cluster.fail('replicas-stop', `${running} have not, ${QUIET_MS} ms after they were asked to`);
    return;
  }
  for (const [name, replica] of replicas) {
    for (const event of await cluster.world.complete(replica.kept()))
      cluster.recorder.record(name, cluster.world.nowMs, event);
  }
}

export function describeReplicas({ replicas }: Replicas): string[] {
  return [...replicas].map(([name, { host, facts }]) => {
    if (facts === undefined) return `${name} ${host.state}`;
    const { role, epoch, lastIndex, inSync } = facts;
    return `${name} ${host.state}, ${role} of epoch ${epoch}, log to ${lastIndex}, in sync ${inSync.join(' ')}`;
  });
}
