/** Sees what one server does, for simulations: its replica's steps, and each entry that is applied with what it did. */

import type { Entry, LogIndex, ReplicaObserver } from '@holdfast/raft';
import type { Output, StateMachine } from '@holdfast/state';

export interface ServerObserver extends ReplicaObserver {
  /** Called before anybody hears of the outputs. The state is only to be read, and only within the call. */
  applied(entry: Entry, outputs: readonly Output[], state: StateMachine): void;
  /** The state of a snapshot of that index was built beside the present one, which is still served. */
  built(index: LogIndex): void;
  /** The state is that of a snapshot of that index from now on. The same holds. */
  restored(index: LogIndex, state: StateMachine): void;
}
