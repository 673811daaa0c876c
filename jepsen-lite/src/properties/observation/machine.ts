/** The state machine as the properties see it: its public face, so that a test can put one that lies in its place. */

import type { StateMachine } from '@holdfast/state';

export type Machine = Pick<
  StateMachine,
  'appliedIndex' | 'fold' | 'counts' | 'apply' | 'applyNoop' | 'query' | 'session' | 'sessions'
>;

export type MakeMachine = () => Machine;
