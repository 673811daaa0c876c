/**
 * Clocks of servers and clients as a capability. A process is started for jumps of its wall clock, or for another rate of all its clocks;
 * a scenario with jumps gets the first kind, on every host.
 */

import type { Fault } from '../../../nemeses/index.ts';
import type { Capabilities } from '../../../nemeses/target.ts';
import type { FakeClock, FakedClocks } from '../clocks/fake-clock.ts';

/** Undefined: none of these faults is one of clocks, and none is faked. */
export function clocksFor(faults: readonly Fault[]): FakedClocks | undefined {
  if (faults.some(({ kind }) => kind === 'wall-jump')) return 'wall';
  const rates = faults.filter((fault) => fault.kind === 'clock-rate');
  if (rates.length === 0) return undefined;
  return rates.some(({ clock }) => clock === 'monotonic') ? 'both' : 'wall';
}

export function clockCapabilities(clocks: ReadonlyMap<string, FakeClock>): Capabilities['clocks'] {
  return {
    jumpWall: (host, byMs) => clocks.get(host)?.jumpWall(byMs),
    /** Of the clocks that the process was started for, if not of that one. */
    setRate: (host, clock, rate) => {
      const faked = clocks.get(host);
      if (faked === undefined) return;
      const other = clock === 'wall' ? 'monotonic' : 'wall';
      faked.setRate(faked.can(clock) ? clock : other, rate);
    },
  };
}
