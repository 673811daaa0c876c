/**
 * A server is stopped, and started again as an older or newer version of the program, as an operator does server by server. An older one
 * is started only where the ensemble cannot have raised its state version yet: an older server does not begin on such data.
 */

import { choice, host } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';
import { VERSIONS } from '../target.ts';

export const changeVersion = nemesis({
  kind: 'change-version',
  lasts: false,
  fields: { host, version: choice(VERSIONS) },
  needs: ['versions'],
  strikes: ['version-changed'],
  begin: (fault, { versions }) => versions.change(fault.host, fault.version),
});
