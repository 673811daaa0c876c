/** Connections over WebSocket and TCP. A listener serves WebSocket and plain HTTP on one port. */

import type { Logger } from '../logger.ts';
import type { Network } from '../network.ts';
import { dial } from './websocket/dial.ts';
import { listen } from './listener.ts';

export function nodeNetwork({ logger }: { readonly logger: Logger }): Network {
  return { listen: (options) => listen(options, logger), dial };
}
