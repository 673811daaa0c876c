/** A clock runs as much too fast or too slow as is allowed. */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import { oneOf } from '../../plan/choices.ts';
import { host, number, choice } from '../../plan/fields.ts';
import { CLOCK_KINDS } from '../target.ts';
import { nemesis } from '../nemesis.ts';

export const clockRate = nemesis({
  kind: 'clock-rate',
  lasts: true,
  fields: { host, clock: choice(CLOCK_KINDS), rate: number },
  needs: ['clocks'],
  oneIn: 4,
  strikes: ['clock-rate'],
  draw: ({ random, lasting, host: struck }) => [
    {
      kind: 'clock-rate',
      ...lasting,
      host: struck,
      clock: oneOf(random, ['monotonic', 'monotonic', 'wall']),
      rate: 1 + MAX_CLOCK_RATE_ERROR * (2 * random.next() - 1),
    },
  ],
  begin: (fault, { clocks }) => clocks.setRate(fault.host, fault.clock, fault.rate),
  end: (fault, { clocks }) => clocks.setRate(fault.host, fault.clock, 1),
});
