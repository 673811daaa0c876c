/**
 * The disk of a server is replaced by an empty one, as soon as everybody knows what was on the first; its service manager starts it as
 * before. Everybody must refuse it.
 */

import { positive } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const loseDisk = nemesis({
  kind: 'lose-disk',
  lasts: false,
  fields: { server: positive },
  needs: ['members'],
  excuses: false,
  goesOnWhenHealed: true,
  strikes: ['disk-lost', 'lost-disk-refused'],
  begin: ({ server }, { members }) => members.loseDisk(server),
});
