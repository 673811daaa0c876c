/** Sees what one server does, for simulations: its replica's steps, and each entry that is applied with what it did. */

import type { Entry, ReplicaObserver } from '@holdfast/raft';
import type { Output, StateMachine } from '@holdfast/state';

export interface ServerObserver extends ReplicaObserver {
  /** Called before anybody hears of the outputs. The state is only to be read, and only within the call. */
  applied(entry: Entry, outputs: readonly Output[], state: StateMachine): void;
}
