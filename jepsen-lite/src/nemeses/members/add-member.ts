/** An operator adds a server: as a voter by way of a learner, or as an observer. It may start only some time after it was asked for. */

import { boolean, number, positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const addMember = nemesis({
  kind: 'add-member',
  lasts: false,
  fields: { server: positive, observer: boolean, startAfterMs: number },
  needs: ['members'],
  excuses: false,
  goesOnWhenHealed: true,
  strikes: ['member-added'],
  strikesSeldom: ['observer-served'],
  begin: ({ server, observer, startAfterMs }, { members }) => members.add(server, { observer, startAfterMs }),
});
