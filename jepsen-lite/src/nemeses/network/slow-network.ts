/** All links are slow. Where they are slow anyhow, only what takes longer than it can otherwise shows that it struck. */

import { between } from '../../plan/choices.ts';
import { delay } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const slowNetwork = nemesis({
  kind: 'slow-network',
  lasts: true,
  fields: { latency: delay },
  needs: ['delays'],
  oneIn: 4,
  strikes: ['frame-slowed'],
  draw: ({ random, lasting }) => [
    { kind: 'slow-network', ...lasting, latency: { minMs: 1, maxMs: between(random, 20, 400) } },
  ],
  begin: (fault, { delays }) => delays.slow(fault.latency),
  end: (_fault, { delays }) => delays.slow(undefined),
});
