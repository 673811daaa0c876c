/** Dials one way are refused, or get no answer. */

import { oneOf } from '../../plan/choices.ts';
import { link, choice } from '../../plan/fields.ts';
import { isBetweenTwo, nemesis } from '../nemesis.ts';

export const dials = nemesis({
  kind: 'dials',
  lasts: true,
  fields: { ...link, mode: choice(['refused', 'hanging']) },
  needs: ['connections'],
  oneIn: 4,
  strikes: ['dial-refused', 'dial-hung'],
  draw({ random, lasting, anyLink }) {
    const [from, to] = anyLink();
    return [{ kind: 'dials', ...lasting, from, to, mode: oneOf(random, ['refused', 'hanging']) }];
  },
  possible: isBetweenTwo,
  begin: (fault, { connections }) => connections.setDials(fault.mode, fault.from, fault.to),
  end: (fault, { connections }) => connections.setDials('normal', fault.from, fault.to),
});
