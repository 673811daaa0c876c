/** Which machines fail together. */

import { STORE_HOST } from '../../plan/plan.ts';
import type { FaultDraw } from '../nemesis.ts';

/** Some servers or all, a client, or the store. */
export function victims(draw: FaultDraw): string[] {
  const { random, servers } = draw;
  switch (random.integer(6)) {
    case 0:
      return [...servers];
    case 1:
      return [draw.anyClient()];
    case 2:
      return [STORE_HOST];
    case 3:
      return servers.filter(() => random.integer(2) === 0);
    default:
      return [draw.anyServer()];
  }
}
