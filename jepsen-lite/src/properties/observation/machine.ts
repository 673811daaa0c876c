/** The state machine as the properties see it: its public face, so that a test can put one that lies in its place. */

import { UnsupportedEntryError, type Output, type StateMachine } from '@holdfast/state';

import type { Entry } from '../script/entry.ts';
import { BrokenPromiseError } from '../demand.ts';

export type Machine = Pick<
  StateMachine,
  | 'appliedIndex'
  | 'version'
  | 'digest'
  | 'counts'
  | 'apply'
  | 'applyNoop'
  | 'beginSnapshot'
  | 'beginRestore'
  | 'query'
  | 'session'
  | 'sessions'
  | 'replyBytes'
  | 'listen'
  | 'pathOf'
>;

export type MakeMachine = () => Machine;

/** Applies one entry of a script. @throws BrokenPromiseError when the machine takes what it must refuse, or stops where it must answer */
export function feed(machine: Machine, index: number, { input, bytes }: Entry): readonly Output[] {
  if (bytes === undefined) {
    machine.applyNoop(index);
    return [];
  }
  if (input.type === 'request') return answered(machine, index, bytes);
  if (input.type !== 'unsupported') return machine.apply(index, bytes);
  try {
    machine.apply(index, bytes);
  } catch (error) {
    if (error instanceof UnsupportedEntryError) return [];
    throw error;
  }
  throw new BrokenPromiseError(`an entry ${input.what} was applied`);
}

function answered(machine: Machine, index: number, bytes: Uint8Array): readonly Output[] {
  try {
    return machine.apply(index, bytes);
  } catch (error) {
    if (error instanceof UnsupportedEntryError)
      throw new BrokenPromiseError(`a client's request stops the machine: ${error.message}`);
    throw error;
  }
}
