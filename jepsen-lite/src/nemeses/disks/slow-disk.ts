/** A server's disk takes up to 1.5 s to make something durable. */

import { between } from '../../plan/choices.ts';
import { delay, host } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const slowDisk = nemesis({
  kind: 'slow-disk',
  lasts: true,
  fields: { host, latency: delay },
  needs: ['disks'],
  oneIn: 4,
  strikes: ['sync-slowed'],
  strikesSeldom: ['disk-operation-slowed'],
  draw: ({ random, lasting, server }) => [
    { kind: 'slow-disk', ...lasting, host: server, latency: { minMs: 1, maxMs: between(random, 50, 1_500) } },
  ],
  begin: (fault, { disks }) => disks.slow(fault.host, fault.latency),
  end: (fault, { disks }) => disks.slow(fault.host, undefined),
});
