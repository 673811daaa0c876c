/**
 * A server is started a second time while its process lives, stopped or not, as by an operator who takes it for dead. The directory that
 * they would share refuses the second one.
 */

import { host } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const secondStart = nemesis({
  kind: 'second-start',
  lasts: false,
  fields: { host },
  needs: ['twins'],
  strikes: ['second-start-refused'],
  begin: (fault, { twins }) => twins.start(fault.host),
});
