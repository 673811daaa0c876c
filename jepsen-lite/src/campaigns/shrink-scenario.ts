/** Makes a failing scenario smaller while the same promise stays broken: fewer faults, fewer clients and workers, less time. */

import { runScenario } from '../targets/sim/run.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { shrink, smallerNumbers, withoutParts, withSmaller, type Shrunk } from './shrink.ts';

export async function shrinkScenario(
  failing: Scenario,
  failureName: string,
  options: { readonly maxTries: number },
): Promise<Shrunk<Scenario>> {
  const stillFails = async (scenario: Scenario): Promise<boolean> =>
    (await runScenario(scenario)).failure?.name === failureName;
  return await shrink(failing, candidates, stillFails, options);
}

function* candidates(scenario: Scenario): Iterable<Scenario> {
  for (const faults of withoutParts(scenario.faults)) yield { ...scenario, faults };
  for (const clients of withoutParts(scenario.clients)) if (clients.length > 0) yield { ...scenario, clients };
  yield* withSmaller(scenario, 'durationMs', (value) => smallerNumbers(value, 1_000));
  yield* withSmaller(scenario, 'locks', (value) => smallerNumbers(value, 1));
  for (const [place, client] of scenario.clients.entries()) {
    for (const workers of smallerNumbers(client.workers, 1)) {
      yield { ...scenario, clients: scenario.clients.with(place, { ...client, workers }) };
    }
  }
  for (const [place, fault] of scenario.faults.entries()) {
    if ('forMs' in fault && fault.forMs > 1) {
      const shorter = { ...fault, forMs: Math.floor(fault.forMs / 2) };
      yield { ...scenario, faults: scenario.faults.with(place, shorter) };
    }
  }
}
