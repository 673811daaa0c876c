/**
 * The outside world as small interfaces. Everything above takes them as arguments; `@holdfast/runtime/node` is the real
 * world, `@holdfast/runtime/sim` a deterministic one that production code never loads.
 */

import type { Clock } from './clock.ts';
import type { Disk } from './disk.ts';
import type { Logger } from './logger.ts';
import type { Network } from './network/network.ts';
import type { Random } from './random.ts';

export * from './abort-listeners.ts';
export * from './network/address.ts';
export * from './clock.ts';
export * from './disk.ts';
export type * from './network/byte-stream.ts';
export * from './network/http.ts';
export { isForeignSite, SECURITY_HEADERS } from './network/http-rules.ts';
export * from './logger.ts';
export * from './network/network.ts';
export { optionNamesProblem } from './option-names.ts';
export * from './patient-disk.ts';
export * from './random.ts';
export { PacedTurns } from './paced-turns.ts';
export * from './network/refusal-log.ts';
export type * from './network/transport-security.ts';
export { Throttle } from './throttle.ts';

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly disk: Disk;
  readonly logger: Logger;
}
