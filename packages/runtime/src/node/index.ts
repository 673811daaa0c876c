/** The real runtime: this process, its operating system, and `ws` for connections. */

import type { Runtime } from '../index.ts';
import { silentLogger } from '../logger.ts';
import type { Logger } from '../logger.ts';
import { nodeClock } from './clock.ts';
import { nodeDisk } from './disk/disk.ts';
import { nodeNetwork } from './network.ts';
import { nodeRandom } from './random.ts';

export { BoundedFile } from './disk/bounded-file.ts';
export type { BoundedFileOptions } from './disk/bounded-file.ts';
export { nodeClock } from './clock.ts';
export { connectionRoom } from './connection-room.ts';
export { descriptorLimit } from './descriptor-limit.ts';
export { HttpStream } from './http/http-stream.ts';
export { nodeDisk } from './disk/disk.ts';
export { nodeNetwork } from './network.ts';
export { nodeRandom } from './random.ts';
export { SocketLimits } from './socket-limits.ts';

export interface NodeRuntimeOptions {
  /** @default the logger that says nothing */
  readonly logger?: Logger;
}

export function nodeRuntime({ logger = silentLogger }: NodeRuntimeOptions = {}): Runtime {
  return { clock: nodeClock(), random: nodeRandom(), network: nodeNetwork({ logger }), disk: nodeDisk(), logger };
}
