/** A client with a session of its own sends what was answered again, copies of what is under way, and requests without a number. */

import { positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const replay = nemesis({
  kind: 'replay',
  lasts: false,
  fields: { server: positive },
  needs: ['strangers'],
  excuses: false,
  beforeServers: true,
  strikes: ['request-replayed', 'replayer-dropped'],
  begin: ({ server }, { strangers }) => strangers.replay(server),
});
