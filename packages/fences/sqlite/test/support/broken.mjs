// Fences as somebody might write them who has not thought of the time between a check and a commit.

import { floorOf } from '@holdfast/fence';
import { STEPS } from '../../dist/fence.js';

const pretend = (_database, _scope, holder) => floorOf(holder);

const BROKEN = {
  unchecked: { look: pretend, raise: () => undefined },
  // The lock for writing is given back behind the check, and taken again by the first write.
  deferred: {
    ...STEPS,
    look: (database, scope) => {
      const floor = STEPS.look(database, scope);
      database.exec('COMMIT; BEGIN DEFERRED; SAVEPOINT holdfast_fence');
      return floor;
    },
  },
};

export function brokenSteps(name) {
  const steps = BROKEN[name];
  if (steps === undefined) throw new Error(`there is no broken fence ${name}`);
  return steps;
}
