/** An operator has the leader transfer leadership, to a server or to the best follower. */

import { integer } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const transferLeadership = nemesis({
  kind: 'transfer-leadership',
  lasts: false,
  /** 0: the best follower. */
  fields: { server: integer },
  needs: ['members'],
  excuses: false,
  oneIn: 20,
  ownStream: true,
  strikes: ['leadership-transferred'],
  draw: ({ lasting: { atMs }, random, servers }) => [
    { kind: 'transfer-leadership', atMs, server: random.integer(servers.length + 1) },
  ],
  begin: ({ server }, { members }) => members.transfer(server),
});
