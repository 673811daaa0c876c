/**
 * What a watch message is told of the past, from its index on: the changes themselves where the history has them, else what the nodes still
 * show, and to recursive watches that they have missed something.
 */

import type { NodeEvent, ServerMessage } from '@holdfast/protocol';
import type { NodeSlot, TreeLookup } from '@holdfast/state';
import { MAX_EVENTS_BYTES, MAX_UNREAD_EVENT_BYTES } from '../limits.ts';
import type { WatchRequest } from '../port/session-port.ts';
import type { EventHistory, HistoryRecord } from './event-history.ts';
import { lastingTraces } from './lasting-traces.ts';
import { PathFilter } from './paths/path-filter.ts';
import { ONE_SHOT, bitOf } from './watch-kinds.ts';
import { toldBytes } from './told-bytes.ts';
import { WantedNodes } from './wanted-nodes.ts';

type PastMessage = Extract<ServerMessage, { type: 'events' | 'missed' }>;

export interface Past {
  readonly messages: readonly PastMessage[];
  /** The watches that go on from here. */
  readonly wanted: WantedNodes;
  readonly source: 'history' | 'traces';
}

/** Undefined when some node is named twice in one way. */
export function wantedNodes({ nodes }: WatchRequest): WantedNodes | undefined {
  const wanted = new WantedNodes();
  return nodes.every(({ path, kind }) => wanted.add(path, bitOf(kind))) ? wanted : undefined;
}

/** Of a message without a node that is named twice in one way. */
export function pastOf(
  request: WatchRequest,
  { history, tree, through }: { readonly history: EventHistory; readonly tree: TreeLookup; readonly through: number },
): Past {
  if (request.from >= history.begin) {
    const past = fromHistory(request, history);
    if (past !== undefined) return past;
  }
  return fromTraces(request, tree, through);
}

/** Undefined when it is too much to be told at once. */
function fromHistory(request: WatchRequest, history: EventHistory): Past | undefined {
  const { id, from } = request;
  const wanted = wantedNodes(request) ?? new WantedNodes();
  const messages: PastMessage[] = [];
  let events: NodeEvent[] = [];
  let through = from;
  let bytes = 0;
  const indexOver = (): boolean => {
    const ofIndex = toldBytes(events);
    bytes += ofIndex;
    if (events.length > 0) messages.push({ type: 'events', id, through, events });
    events = [];
    wanted.nextIndex();
    return ofIndex <= MAX_EVENTS_BYTES && bytes <= MAX_UNREAD_EVENT_BYTES;
  };
  let fits = true;
  const hear = (record: HistoryRecord): boolean => {
    if (record.index !== through) {
      fits = indexOver();
      through = record.index;
    }
    if (fits) events.push(...wanted.hear(record));
    return fits;
  };
  history.replay(from, hear, new PathFilter(wanted.concerned()));
  return fits && indexOver() ? { messages, wanted, source: 'history' } : undefined;
}

function fromTraces(request: WatchRequest, tree: TreeLookup, through: number): Past {
  const { id, from, nodes } = request;
  const wanted = wantedNodes(request) ?? new WantedNodes();
  const events: NodeEvent[] = [];
  const told = new Set<string>();
  let recursive = false;
  for (const { path, kind, existed } of nodes) {
    const bit = bitOf(kind);
    recursive ||= kind === 'recursive';
    const node: NodeSlot | undefined = tree.find(path);
    for (const type of lastingTraces(bit, { existed, node, from }, tree)) {
      if ((bit & ONE_SHOT) !== 0) wanted.over(path, bit);
      if (told.has(`${type}${path}`)) continue;
      told.add(`${type}${path}`);
      events.push({ type, path });
    }
  }
  const messages: PastMessage[] = [];
  // First: whoever hears the rest has heard this, too.
  if (recursive) messages.push({ type: 'missed', id, from, through });
  if (events.length > 0) messages.push({ type: 'events', id, through, events });
  return { messages, wanted, source: 'traces' };
}
