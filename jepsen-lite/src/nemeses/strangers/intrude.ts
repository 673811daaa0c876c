/** Somebody dials a server as another one, proves a data directory that is made up, and speaks as a member would. Nobody may hear it. */

import { boolean, choice, integer, positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';
import { INTRUDER_PURPOSES } from '../target.ts';

export const intrude = nemesis({
  kind: 'intrude',
  lasts: false,
  /** `hasty`: it does not wait for its welcome. */
  fields: { server: positive, as: integer, purpose: choice(INTRUDER_PURPOSES), hasty: boolean },
  needs: ['strangers'],
  excuses: false,
  beforeServers: true,
  strikes: ['stranger-connected', 'stranger-refused'],
  begin: ({ server, as, purpose, hasty }, { strangers }) => strangers.intrude({ server, as, purpose, hasty }),
});
