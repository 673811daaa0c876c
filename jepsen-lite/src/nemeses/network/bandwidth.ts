/** A link carries few bytes a second one way; what is too much waits. Of one link, or of all links from one server to the others. */

import { oneOf } from '../../plan/choices.ts';
import { link, positive } from '../../plan/fields.ts';
import { isBetweenTwo, nemesis } from '../nemesis.ts';

/** A heartbeat a second has room in the least, and few entries beside it; the most carries what a few clients write. */
const BYTES_PER_SECOND = [1_000, 5_000, 20_000];

export const bandwidth = nemesis({
  kind: 'bandwidth',
  lasts: true,
  fields: { ...link, bytesPerSecond: positive },
  needs: ['delays'],
  oneIn: 8,
  ownStream: true,
  strikes: ['bytes-delayed'],
  draw({ random, servers, lasting, anyServer, anyLink }) {
    const limit = { kind: 'bandwidth', ...lasting, bytesPerSecond: oneOf(random, BYTES_PER_SECOND) } as const;
    if (random.integer(2) === 0) {
      const [from, to] = anyLink();
      return [{ ...limit, from, to }];
    }
    const from = anyServer();
    return servers.filter((to) => to !== from).map((to) => ({ ...limit, from, to }));
  },
  possible: isBetweenTwo,
  begin: (fault, { delays }) => delays.limit(fault.from, fault.to, fault.bytesPerSecond),
  end: (fault, { delays }) => delays.unlimit(fault.from, fault.to),
});
