/**
 * Somebody is at a server's peer address whenever the server does not run, and tells whoever dials there that it is no member. From time
 * 0: the server starts only when it is over.
 */

import { positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const usurp = nemesis({
  kind: 'usurp',
  lasts: true,
  fields: { server: positive },
  needs: ['strangers'],
  excuses: false,
  beforeServers: true,
  strikes: ['port-taken', 'server-misled', 'expulsion-forged'],
  begin: ({ server }, { strangers }) => strangers.takePort(server),
  end: ({ server }, { strangers }) => strangers.leavePort(server),
});
