/** Connections over WebSocket, and streams over TCP. A listener of connections serves WebSocket and plain HTTP on one port. */

import type { Logger } from '../logger.ts';
import type { Network } from '../network/network.ts';
import { dial } from './websocket/dial.ts';
import { listen } from './listener.ts';
import { dialStream } from './stream/dial.ts';
import { listenForStreams } from './stream/listen.ts';

export function nodeNetwork({ logger }: { readonly logger: Logger }): Network {
  return {
    listen: (options) => listen(options, logger),
    dial,
    listenForStreams: (options) => listenForStreams(options, logger),
    dialStream,
  };
}
