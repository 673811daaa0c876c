/** A request that the leader refuses for want of room on a disk is answered so, under its number, like any other that was applied. */

import { appliedCommand } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function refusalsAreAnswered(): StatePromise {
  return {
    name: 'a request that the leader refuses is answered DISK_FULL',
    observe(step) {
      const applied = appliedCommand(step);
      if (applied === undefined) return;
      const { command, reply } = applied;
      const shown = reply.type === 'error' && reply.code === 'DISK_FULL';
      demand(
        shown === (command.type === 'refuse'),
        () => `${JSON.stringify(command)} was answered ${JSON.stringify(reply)}`,
      );
      const names = command.type !== 'refuse' || (shown && reply.message.includes(`${command.server}`));
      demand(names, () => `the answer does not name the server whose disk is full: ${JSON.stringify(reply)}`);
    },
  };
}
