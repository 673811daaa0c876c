/** The next write, sync or read of a server's disk fails; the process ends of it, and starts again at its end. */

import { oneOf } from '../../plan/choices.ts';
import { host, choice } from '../../plan/fields.ts';
import { DISK_OPERATIONS } from '../target.ts';
import { nemesis } from '../nemesis.ts';

export const diskError = nemesis({
  kind: 'disk-error',
  lasts: true,
  fields: { host, operation: choice(DISK_OPERATIONS) },
  needs: ['disks', 'processes'],
  oneIn: 4,
  strikes: ['read-failed', 'write-failed', 'sync-failed'],
  strikesSeldom: ['write-partly-done', 'disk-operation-failed'],
  draw: ({ random, lasting, server }) => [
    { kind: 'disk-error', ...lasting, host: server, operation: oneOf(random, ['append', 'append', 'sync', 'read']) },
  ],
  begin: (fault, { disks }) => disks.failNext(fault.host, fault.operation),
  end: (fault, { processes }) => processes.start(fault.host),
});
