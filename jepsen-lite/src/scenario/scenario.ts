/**
 * One run as data: who takes part, on which machines and links, what goes wrong and when. A seed draws one (draw/draw.ts); a failing one
 * is shrunk by leaving parts out; a saved one is replayed exactly. Nothing in a simulated run is decided anywhere else.
 */

import type { Fault } from '../nemeses/index.ts';
import type { Plan } from '../plan/plan.ts';

export interface Scenario extends Plan {
  readonly faults: readonly Fault[];
}
