/** No operation of a disk ends before its time is over. */

import { oneOf } from '../../plan/choices.ts';
import { host } from '../../plan/fields.ts';
import { STORE_HOST } from '../../plan/plan.ts';
import { nemesis } from '../nemesis.ts';

export const hungDisk = nemesis({
  kind: 'hung-disk',
  lasts: true,
  fields: { host },
  needs: ['disks'],
  oneIn: 4,
  strikes: ['sync-stalled'],
  strikesSeldom: ['disk-operation-stalled'],
  draw: ({ random, lasting, server }) => [{ kind: 'hung-disk', ...lasting, host: oneOf(random, [server, STORE_HOST]) }],
  begin: (fault, { disks }) => disks.hang(fault.host, fault.forMs),
});
