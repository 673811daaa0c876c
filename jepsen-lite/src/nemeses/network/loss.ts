/** Every frame breaks its connection with some chance. */

import { oneOf } from '../../plan/choices.ts';
import { number } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const loss = nemesis({
  kind: 'loss',
  lasts: true,
  fields: { chance: number },
  needs: ['connections'],
  oneIn: 4,
  strikes: ['connection-broken', 'frame-lost'],
  draw: ({ random, lasting }) => [{ kind: 'loss', ...lasting, chance: oneOf(random, [0.001, 0.01, 0.05]) }],
  begin: (fault, { connections }) => connections.setLoss(fault.chance),
  end: (_fault, { connections }) => connections.setLoss(0),
});
