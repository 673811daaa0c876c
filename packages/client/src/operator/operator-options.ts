/** What `connectOperator` takes. */

import { InvalidArgumentError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { resolveOptions, type ConnectOptions, type ResolvedOptions } from '../options.ts';

/**
 * What `connectOperator` takes.
 *
 * @example
 * const operator = await connectOperator({ servers, stale: true }); // from whichever server answers
 */
export interface OperatorOptions extends Pick<
  ConnectOptions,
  | 'servers'
  | 'label'
  | 'clusterId'
  | 'connectTimeoutMs'
  | 'failFast'
  | 'requestTimeoutMs'
  | 'closeTimeoutMs'
  | 'logger'
  | 'signal'
> {
  /**
   * Reads are answered by the first server that can be reached, from what it has applied, whether anybody leads or not: perhaps without
   * what others have committed since. Otherwise they need a leader with a quorum, and see every write that was answered before.
   * @default false
   */
  readonly stale?: boolean;
}

const OPTION_NAMES: Record<keyof OperatorOptions, true> = {
  servers: true,
  label: true,
  clusterId: true,
  connectTimeoutMs: true,
  failFast: true,
  requestTimeoutMs: true,
  closeTimeoutMs: true,
  logger: true,
  signal: true,
  stale: true,
};

/** @throws InvalidArgumentError */
export function resolveOperatorOptions(options: OperatorOptions): ResolvedOptions {
  checkOptionNames('connectOperator', options, OPTION_NAMES);
  const { stale = false, ...rest } = options;
  if (typeof stale !== 'boolean') throw new InvalidArgumentError(`stale is ${String(stale)}; it must be true or false`);
  // One question does not pay for another connection, and a server that is asked by name is the one to answer.
  return { ...resolveOptions({ ...rest, preferLeader: false }), purpose: stale ? 'ask-anyone' : 'ask' };
}
