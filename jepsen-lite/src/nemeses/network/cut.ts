/** One way of one link drops everything; TCP sends it again. */

import { link } from '../../plan/fields.ts';
import { isBetweenTwo, nemesis } from '../nemesis.ts';

export const cut = nemesis({
  kind: 'cut',
  lasts: true,
  fields: link,
  needs: ['links'],
  oneIn: 4,
  strikes: ['frame-held-by-cut', 'retransmission-lost'],
  draw({ lasting, anyLink }) {
    const [from, to] = anyLink();
    return [{ kind: 'cut', ...lasting, from, to }];
  },
  possible: isBetweenTwo,
  begin: (fault, { links }) => links.cut(fault.from, fault.to),
  end: (fault, { links }) => links.mend(fault.from, fault.to),
});
