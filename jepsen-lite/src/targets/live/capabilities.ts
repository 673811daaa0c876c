/** What the live target can inflict on this machine. */

import type { CapabilityName } from '../../nemeses/target.ts';
import { FakeClock } from './clocks/fake-clock.ts';
import { Volumes } from './disks/volumes.ts';
import { diskCapabilities } from './hardware/disk-faults.ts';

/** Finds out by trying. */
export async function liveCapabilities(): Promise<readonly CapabilityName[]> {
  const found: CapabilityName[] = ['processes', 'twins', 'versions', 'damage', 'members', 'strangers'];
  // Proxies need nothing, so that no machine is without links.
  found.push('links', 'connections', 'delays');
  const volumes = await Volumes.open();
  const disks = diskCapabilities({ volumes: new Map(), lacks: volumes.lacks, machineOn: nobody });
  found.push(...(Object.keys(disks ?? {}) as CapabilityName[]));
  await volumes.close();
  if (FakeClock.problem() === undefined) found.push('clocks');
  return found;
}

function nobody(host: string): never {
  throw new TypeError(`nothing runs on ${host}`);
}
