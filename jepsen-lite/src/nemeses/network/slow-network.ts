/** All links are slow. Every frame takes its time, so that nothing counts those that do: it has struck when it has begun. */

import { between } from '../../plan/choices.ts';
import { delay } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const slowNetwork = nemesis({
  kind: 'slow-network',
  lasts: true,
  fields: { latency: delay },
  needs: ['delays'],
  oneIn: 4,
  strikes: [],
  draw: ({ random, lasting }) => [
    { kind: 'slow-network', ...lasting, latency: { minMs: 1, maxMs: between(random, 20, 400) } },
  ],
  begin: (fault, { delays }) => delays.setLatency(fault.latency),
  end: (_fault, { delays }) => delays.setLatency(undefined),
});
