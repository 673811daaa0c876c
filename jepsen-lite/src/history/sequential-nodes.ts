/**
 * Sequential nodes whose names say which call has made them: each call creates under a prefix of its own, to which the ensemble appends
 * the number of the child. Nobody deletes them, so that the children of one parent are numbered from 0, without a gap.
 */

/** Before the number of the call. */
export const SEQUENTIAL_PREFIX = 'n';
const NAME = /^(n\d+-)(\d{10})$/;

export function sequentialParent(number: number, round: number): string {
  return `/once-${number}-${round}`;
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export interface SequentialName {
  /** What was asked for. */
  readonly prefix: string;
  readonly number: number;
}

/** Undefined for a name that no call of this workload can have made. */
export function parseSequential(name: string): SequentialName | undefined {
  const parts = NAME.exec(name);
  return parts === null ? undefined : { prefix: parts[1] ?? '', number: Number(parts[2]) };
}
