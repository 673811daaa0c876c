/** Random commands against the replicated state machine: one attempt is all that is run for every commit. */

import { runProperties } from '../../properties/index.ts';
import type { Detector } from '../attempt.ts';

const RUNS = 1_000;
const COMMANDS = 240;

/** @param runs of one attempt, at most */
export function propertiesOf(runs = RUNS): Detector {
  return (seed) => {
    const { failure } = runProperties({ runs, commands: COMMANDS, seed });
    if (failure === undefined) return Promise.resolve({ failure: undefined, simulatedMs: 0 });
    const { kind, name, message, run } = failure;
    return Promise.resolve({
      failure: { kind: kind === 'error' ? 'unexpected' : 'promise', name, message, run },
      simulatedMs: 0,
    });
  };
}
