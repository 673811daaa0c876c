/** The front that speaks Holdfast's own protocol, over connections of messages: what `@holdfast/client` and lockctl dial. */

import type { Clock, Logger } from '@holdfast/runtime';
import type { ServerCounters } from '../../counters.ts';
import type { Availability } from '../../health/availability.ts';
import type { ServerPart } from '../../machine/server-part.ts';
import type { CrowdSpread } from '../../port/crowd-spread.ts';
import type { SessionPort } from '../../port/session-port.ts';
import { ClientConnections } from './client-connections.ts';
import { ClientMessages } from './client-messages.ts';
import { EnsembleNews } from './ensemble-news.ts';

export interface NativeFrontDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: ServerCounters;
  readonly port: SessionPort;
  readonly availability: Availability;
  readonly crowdSpread: CrowdSpread;
  /** Something waits to be flushed. */
  wake(): void;
}

export interface NativeFront {
  readonly connections: ClientConnections;
  /** In their order: what is sent leaves with the flush of the connections. */
  readonly parts: readonly ServerPart[];
}

export function createNativeFront(deps: NativeFrontDeps): NativeFront {
  const { port, crowdSpread } = deps;
  const connections = new ClientConnections({ ...deps, receiver: new ClientMessages(deps) });
  const news = new EnsembleNews({ connections, crowdSpread, ensemble: port.ensemble });
  return { connections, parts: [news, connections] };
}
