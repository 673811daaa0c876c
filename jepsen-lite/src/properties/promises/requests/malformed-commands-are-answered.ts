/** A payload that is not its command's, or names an impossible lock, is a bad argument like any other: answered, and its number used up. */

import { lockNameProblem } from '@holdfast/protocol';
import { VERSIONS } from '@holdfast/state';

import { errorCode, freshReply } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function malformedCommandsAreAnswered(): StatePromise {
  return {
    name: 'a malformed command is answered INVALID_ARGUMENT',
    observe(step) {
      const reply = freshReply(step);
      if (step.input.type !== 'request' || reply === undefined) return;
      const { command, name } = step.input;
      // Of a command that is not there yet nobody reads the payload.
      if (name === undefined || VERSIONS.commands[name] > step.before.stateVersion) return;
      const bad = command === undefined || (command.type === 'acquire' && lockNameProblem(command.lock) !== undefined);
      demand(
        !bad || errorCode(reply) === 'INVALID_ARGUMENT',
        () => `a malformed ${name} was answered ${JSON.stringify(reply)}`,
      );
    },
  };
}
