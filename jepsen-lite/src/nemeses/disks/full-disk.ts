/** A server's disk has no space left; the process ends of it, and starts again at its end. */

import { host } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const fullDisk = nemesis({
  kind: 'full-disk',
  lasts: true,
  fields: { host },
  needs: ['disks', 'processes'],
  oneIn: 4,
  strikes: ['no-space'],
  draw: ({ lasting, server }) => [{ kind: 'full-disk', ...lasting, host: server }],
  begin: (fault, { disks }) => disks.fill(fault.host),
  end(fault, { disks, processes }) {
    const freed = disks.free(fault.host);
    return freed === undefined ? processes.start(fault.host) : freed.then(() => processes.start(fault.host));
  },
});
