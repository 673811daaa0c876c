/**
 * One run as data: who takes part, on which machines and links, what goes wrong and when, what operators and strangers do. A seed draws
 * one (draw/draw.ts); a failing one is shrunk by leaving parts out; a saved one is replayed exactly. Nothing in a simulated run is decided
 * anywhere else.
 */

import type { Fault } from '../nemeses/index.ts';
import type { Plan } from '../plan/plan.ts';

export interface Scenario extends Plan {
  readonly faults: readonly Fault[];
}

/** Servers that are added in the course of the run. */
export function joiningIds({ servers, faults }: Pick<Scenario, 'servers' | 'faults'>): number[] {
  const added = faults.flatMap((fault) => (fault.kind === 'add-member' && fault.server > servers ? fault.server : []));
  return [...new Set(added)].toSorted((a, b) => a - b);
}
