/** Gives clients what they do beyond the usual: each workload that asks for it, from a stream of its own, so that it shifts no other draw. */

import type { Random } from '@holdfast/runtime';
import { USUAL_NAMES, WORKLOADS } from '../../workloads/index.ts';
import type { Workload } from '../../workloads/workload.ts';
import type { Scenario } from '../scenario.ts';

export function withWorkloads(
  scenario: Scenario,
  streamOf: (name: string) => Random,
  all: readonly Workload[] = WORKLOADS,
): Scenario {
  const drawn = all.flatMap(({ name, oneIn }) => {
    return oneIn === undefined || streamOf(`workload ${name}`).integer(oneIn) > 0 ? [] : [name];
  });
  if (drawn.length === 0) return scenario;
  const workloads = [...USUAL_NAMES, ...drawn];
  return { ...scenario, clients: scenario.clients.map((client) => ({ ...client, workloads })) };
}
