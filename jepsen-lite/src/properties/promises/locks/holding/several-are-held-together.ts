/** Several locks that were asked for at once: one acquire is in the queues of all of them or of none, and holds all or none, under one token. */

import { appliedCommand } from '../../../observation/step.ts';
import type { StatePromise } from '../../../state-promise.ts';
import { demand } from '../../../demand.ts';

export function severalAreHeldTogether(): StatePromise {
  /** The locks of each, by acquire index. */
  const together = new Map<number, readonly string[]>();
  return {
    name: 'what is acquired together is held together',
    observe(step) {
      const { index, after } = step;
      const applied = appliedCommand(step);
      const command = applied?.command;
      const several = command?.type === 'acquireSeveral' || command?.type === 'acquireWith' ? command : undefined;
      if (several !== undefined && applied?.reply.type === 'acquire') {
        const { acquireIndex } = applied.reply;
        const locks = several.locks.map(({ lock }) => lock);
        demand(acquireIndex === index, () => `the acquire of entry ${index} is called ${acquireIndex}`);
        together.set(acquireIndex, locks);
      }
      for (const [acquireIndex, locks] of together) {
        const places = locks.flatMap((lock) => {
          const place = after.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex);
          return place === undefined ? [] : [{ lock, session: place.session, token: place.token }];
        });
        const [first] = places;
        if (first === undefined) together.delete(acquireIndex);
        demand(
          places.length === 0 || places.length === locks.length,
          () =>
            `acquire ${acquireIndex} of ${locks.join(', ')} is at ${places.map(({ lock }) => lock).join(', ')} alone`,
        );
        const other = places.find(({ session, token }) => session !== first?.session || token !== first?.token);
        demand(
          other === undefined,
          () =>
            `acquire ${acquireIndex} of ${locks.join(', ')} is ${JSON.stringify(first)} and ${JSON.stringify(other)}`,
        );
      }
    },
  };
}
