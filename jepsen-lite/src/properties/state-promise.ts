/** One thing that the state machine promises, with the little model that it takes to see it broken. */

import type { Step } from './observation/step.ts';

export interface StatePromise {
  /** As a sentence: it is what a failure and the table of planted bugs name. */
  readonly name: string;
  /** Is shown every entry of a run, in order. @throws BrokenPromiseError */
  observe(step: Step): void;
}
