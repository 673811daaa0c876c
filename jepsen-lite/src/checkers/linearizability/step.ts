/** An operation of a history with what its model says of it. */

import type { Call } from '../../history/calls.ts';
import type { Operation } from '../../history/operations/operation.ts';
import type { Action } from '../../models/model.ts';

export interface Step<State> {
  readonly operation: Operation;
  readonly action: Action<State>;
}

/** A call of a history: its place in the order of events is its time. One of unknown outcome has not returned. */
export function operationOf({ invoke, completion }: Call): Operation {
  const answered = completion !== undefined && completion.type !== 'info';
  return {
    line: invoke.seq,
    process: invoke.process,
    client: invoke.process,
    f: invoke.f,
    key: undefined,
    input: null,
    output: null,
    invokedAt: invoke.seq,
    returnedAt: answered ? completion.seq : Number.POSITIVE_INFINITY,
  };
}
