/** An operator gives a vote to an observer, or to a learner that fell behind. */

import { positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const promoteMember = nemesis({
  kind: 'promote-member',
  lasts: false,
  fields: { server: positive },
  needs: ['members'],
  excuses: false,
  goesOnWhenHealed: true,
  strikes: ['member-promoted'],
  begin: ({ server }, { members }) => members.promote(server),
});
