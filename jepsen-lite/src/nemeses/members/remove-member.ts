/** An operator removes a server, or whoever leads when its turn comes. It ends by itself, and its number is used up. */

import { positiveOr } from '../../plan/fields.ts';
import { LEADER } from '../../plan/plan.ts';
import { nemesis } from '../nemesis.ts';

export const removeMember = nemesis({
  kind: 'remove-member',
  lasts: false,
  fields: { server: positiveOr(LEADER) },
  needs: ['members'],
  excuses: false,
  goesOnWhenHealed: true,
  strikes: ['member-removed'],
  begin: ({ server }, { members }) => members.remove(server),
});
