/** A scenario while it is drawn: what operators and strangers do is still apart from the faults, among which the draws place others. */

import type { MemberFault, StrangerFault } from '../../nemeses/index.ts';
import type { Scenario } from '../scenario.ts';

export interface Draft extends Scenario {
  /** @default none: the members stay */
  readonly members?: readonly MemberFault[];
  /** @default none */
  readonly strangers?: readonly StrangerFault[];
}

export function scenarioOf({ members = [], strangers = [], ...scenario }: Draft): Scenario {
  return { ...scenario, faults: [...scenario.faults, ...members, ...strangers] };
}
