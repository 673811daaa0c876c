/** An application that neither logs nor listens is told by Node's own means, once, that it waits: most likely for itself. */

import type { ClientEvents } from '../events.ts';
import { describeWait, locksText } from '../locks/waits/lock-wait.ts';

/** Emits one process warning, of type `HoldfastWarning`, at the first wait that takes long. */
export function warnOfLongWaits(events: ClientEvents): void {
  const stop = events.on('long-wait', ({ wait }) => {
    stop();
    const seconds = Math.round(wait.waitedMs / 1000);
    process.emitWarning(`an acquire has waited for ${locksText(wait.locks)} for ${seconds} s: ${describeWait(wait)}`, {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_LONG_WAIT',
      detail:
        'Said once a client. Give connect() a logger, listen for the event "long-wait", or set longWaitMs to Infinity.',
    });
  });
}
