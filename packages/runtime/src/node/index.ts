import { silentLogger, type Logger, type Runtime } from '../index.ts';
import { nodeClock } from './clock.ts';
import { nodeDisk } from './disk.ts';
import { nodeNetwork } from './network.ts';
import { nodeRandom } from './random.ts';
export function nodeRuntime({ logger = silentLogger }: { logger?: Logger } = {}): Runtime {
  return { clock: nodeClock(), random: nodeRandom(), network: nodeNetwork(logger), disk: nodeDisk(), logger };
}
