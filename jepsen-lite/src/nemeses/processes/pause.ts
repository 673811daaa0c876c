/** SIGSTOP: nothing runs; then timers fire late, all at once. */

import { between } from '../../plan/choices.ts';
import { host } from '../../plan/fields.ts';
import { nemesis, type FaultDraw } from '../nemesis.ts';

export const pause = nemesis({
  kind: 'pause',
  lasts: true,
  fields: { host },
  needs: ['processes'],
  oneIn: 2,
  strikes: ['timer-late-after-pause', 'io-late-after-pause'],
  draw(draw) {
    const { host: paused, lasting, server } = draw;
    return [{ kind: 'pause', ...lasting, host: paused, forMs: paused === server ? lasting.forMs : ofClient(draw) }];
  },
  begin: (fault, { processes }) => processes.pause(fault.host),
  end: (fault, { processes }) => processes.resume(fault.host),
});

/** Most pauses of a client outlast its session, so that it wakes in a world that has gone on without it. */
function ofClient({ random, plan, lasting }: FaultDraw): number {
  const timeouts = plan.clients.map(({ sessionTimeoutMs }) => sessionTimeoutMs);
  if (random.integer(3) === 0) return lasting.forMs;
  return between(random, Math.min(...timeouts), 2 * Math.max(...timeouts));
}
