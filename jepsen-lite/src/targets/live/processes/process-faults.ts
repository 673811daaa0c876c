/** Signals to the processes of a run as a capability: two faults may pause one process, which goes on when both have let go of it. */

import type { Capabilities } from '../../../nemeses/target.ts';
import type { Holds } from '../../holds.ts';
import type { Forgetting } from './forgetting.ts';
import type { Machine } from './machine.ts';

export function processCapability(
  machineOn: (host: string) => Machine,
  holds: Holds,
  forgetting: Forgetting,
): Capabilities['processes'] {
  return {
    kill: (host) => {
      forgetting.killed(host);
      return machineOn(host).kill();
    },
    forgotten: (host) => forgetting.forgotten(host),
    terminate: (host) => machineOn(host).terminate(),
    pause: (host) => {
      let done: Promise<void> | undefined;
      holds.hold(`pause ${host}`, () => {
        done = machineOn(host).pause();
      });
      return done;
    },
    resume: (host) => {
      let done: Promise<void> | undefined;
      holds.letGo(`pause ${host}`, () => {
        done = machineOn(host).resume();
      });
      return done;
    },
    start: (host) => machineOn(host).start(),
  };
}
