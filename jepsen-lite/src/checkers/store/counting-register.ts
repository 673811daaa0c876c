/**
 * The register of the fenced workload: whoever holds the lock installs the token, reads `token:number`, and writes its own token with
 * the next number. So every update has a number of its own, and says on which one it was built. A writer whose put has an unknown
 * outcome writes no more under that token.
 */

import { callsOf, type Call } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { groupBy } from '../group.ts';

export interface Update {
  readonly token: number;
  /** 1 for the first. */
  readonly number: number;
}

export interface CountingRegister {
  readonly bucket: string;
  readonly key: string;
  /** Puts and gets, in the order of their invocations. */
  readonly calls: readonly Call<'put' | 'get'>[];
}

/** Undefined for a text that is none of these. */
export function parseUpdate(value: string): Update | undefined {
  const parts = /^(\d{1,16}):(\d{1,15})$/.exec(value);
  return parts === null ? undefined : { token: Number(parts[1]), number: Number(parts[2]) };
}

/** Keys to which nothing but updates was written. */
export function countingRegisters(history: History): CountingRegister[] {
  const groups = groupBy(callsOf(history, 'put', 'get'), ({ invoke }) => `${invoke.bucket} ${invoke.key}`);
  const registers: CountingRegister[] = [];
  for (const calls of groups.values()) {
    const first = calls[0]?.invoke;
    const counting = calls.every(({ invoke }) => invoke.f === 'get' || parseUpdate(invoke.value) !== undefined);
    if (first !== undefined && counting) registers.push({ bucket: first.bucket, key: first.key, calls });
  }
  return registers;
}
