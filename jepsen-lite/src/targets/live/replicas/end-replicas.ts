/** The end of the replicas of a live run: when all have everything they are stopped, and what each has is told. */

import type { LiveHistory } from '../clients/live-history.ts';
import type { Machine } from '../processes/machine.ts';
import { excess, usageOf, type Usage } from '../processes/usage.ts';
import type { LiveReplicas } from './live-replicas.ts';

/** Once clients have ended, for all replicas to be in sync and to have all of the log. */
const AGREE_MS = 30_000;
/** Clients keep connections that they do not use for some seconds. */
const IDLE_CONNECTIONS_MS = 10_000;

interface EndOptions {
  /** Before the load, by host. */
  readonly usageBefore: ReadonlyMap<string, Usage>;
  readonly runUntil: (condition: () => boolean, maxMs: number) => Promise<boolean>;
  readonly fail: (name: string, message: string) => void;
  /** While they run: fails the run for what they hold and have written. */
  readonly judgeLeft: (machines: readonly Machine[]) => void;
}

/** They hold sessions and a lock as long as they run. Rejects with what reading their disks rejects with. */
export async function endReplicas(
  { replicas, history }: { readonly replicas: LiveReplicas; readonly history: LiveHistory },
  { usageBefore, runUntil, fail, judgeLeft }: EndOptions,
): Promise<void> {
  if (!(await runUntil(() => replicas.agree, AGREE_MS))) {
    fail('replicas-have-everything', `not within ${AGREE_MS} ms`);
    return;
  }
  const { machines } = replicas;
  await runUntil(() => !machines.some((machine) => holdsMore(machine, usageBefore)), IDLE_CONNECTIONS_MS);
  judgeLeft(machines);
  replicas.stopWatching();
  await Promise.all(machines.map((machine) => machine.end()));
  for (const [host, events] of await replicas.kept()) {
    for (const event of events) history.add(host, process.hrtime.bigint(), event);
  }
}

function holdsMore({ host, pid }: Machine, usageBefore: ReadonlyMap<string, Usage>): boolean {
  const before = usageBefore.get(host);
  const after = usageOf(pid);
  return before !== undefined && after !== undefined && excess(before, after) !== undefined;
}
