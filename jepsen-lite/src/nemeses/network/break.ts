/** Resets the connections between two hosts. */

import { host, pairOf } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const breakConnections = nemesis({
  kind: 'break',
  lasts: false,
  fields: { hosts: pairOf(host) },
  needs: ['connections'],
  oneIn: 4,
  strikes: ['connection-broken'],
  draw: ({ lasting: { atMs }, anyLink }) => [{ kind: 'break', atMs, hosts: anyLink() }],
  begin: (fault, { connections }) => connections.reset(...fault.hosts),
});
