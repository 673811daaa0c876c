/** An operation of a history with what its model says of it. */

import type { Operation } from '../../history/operations/operation.ts';
import type { Action } from '../../models/model.ts';

export interface Step<State> {
  readonly operation: Operation;
  readonly action: Action<State>;
}
