/**
 * The watches of one connection to a fake server. It knows every change there ever was, unless a test says that it has forgotten the oldest.
 */

import {
  parentPath,
  type Answer,
  type ClientMessage,
  type NodeEvent,
  type Query,
  type ServerMessage,
  type WatchKind,
} from '@holdfast/protocol';

export interface FakeChange extends NodeEvent {
  readonly index: number;
}

interface Watched {
  readonly kind: WatchKind;
  readonly path: string;
}

type WatchMessage = Extract<ClientMessage, { type: 'watch' }>;
type UnwatchMessage = Extract<ClientMessage, { type: 'unwatch' }>;

export interface Past {
  readonly index: number;
  readonly changes: readonly FakeChange[];
  /** Every change behind it is known. */
  readonly begin: number;
  exists(path: string): boolean;
  query(query: Query): Answer;
}

export class FakeWatches {
  #watched: Watched[] = [];
  #registered = false;

  /** Up to where everything was told; undefined for one that never watched. */
  through(index: number): number | undefined {
    return this.#registered ? index : undefined;
  }

  watch({ id, from, nodes, read }: WatchMessage, past: Past): readonly ServerMessage[] {
    const twice = nodes.find(({ kind, path }) => this.#has({ kind, path }));
    if (twice !== undefined) return [refusal(id, 'INVALID_ARGUMENT', `${twice.path} is watched already`)];
    if (from > past.index) return [refusal(id, 'NOT_CAUGHT_UP', `this server has applied ${past.index}`)];
    this.#registered = true;
    this.#watched.push(...nodes);
    const told: ServerMessage[] = [];
    if (from !== 0 && from < past.begin) {
      if (nodes.some(({ kind }) => kind === 'recursive')) {
        told.push({ type: 'missed', id, from, through: past.index });
      }
    } else if (from !== 0) {
      for (const change of past.changes) {
        if (change.index <= from) continue;
        const events = eventsFor(change, nodes);
        if (events.length > 0) told.push({ type: 'events', id, through: change.index, events });
      }
    }
    const existing = new Uint8Array(Math.ceil(nodes.length / 8));
    for (const [at, { path }] of nodes.entries()) {
      if (past.exists(path)) existing[at >> 3] = (existing[at >> 3] ?? 0) | (1 << (at & 7));
    }
    const answer = read === undefined ? {} : { answer: past.query(read.query) };
    return [...told, { type: 'watching', id, index: past.index, existing, ...answer }];
  }

  unwatch({ id, nodes }: UnwatchMessage, index: number): ServerMessage {
    const none = nodes.find((node) => !this.#has(node));
    if (none !== undefined) return refusal(id, 'NOT_FOUND', `${none.path} is not watched`);
    this.#watched = this.#watched.filter((each) => !nodes.some((node) => same(each, node)));
    return { type: 'unwatched', id, index };
  }

  /** What the changes of one entry are to this connection. */
  hear(index: number, changes: readonly FakeChange[]): ServerMessage | undefined {
    const events = changes.flatMap((change) => eventsFor(change, this.#watched));
    return events.length === 0 ? undefined : { type: 'events', id: 0, through: index, events };
  }

  get size(): number {
    return this.#watched.length;
  }

  #has(node: Watched): boolean {
    return this.#watched.some((each) => same(each, node));
  }
}

function same(left: Watched, right: Watched): boolean {
  return left.kind === right.kind && left.path === right.path;
}

/** The one-shot kinds are not played here. */
function eventsFor({ type, path }: FakeChange, watched: readonly Watched[]): NodeEvent[] {
  const parent = parentPath(path);
  const below = (above: string): boolean => path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
  const events: NodeEvent[] = [];
  if (watched.some((each) => each.path === path || (each.kind === 'recursive' && below(each.path)))) {
    events.push({ type, path });
  }
  const ofChildren = watched.some((each) => each.kind === 'persistent' && each.path === parent);
  if (type !== 'changed' && ofChildren) events.push({ type: 'children', path: parent });
  return events;
}

function refusal(id: number, code: 'INVALID_ARGUMENT' | 'NOT_CAUGHT_UP' | 'NOT_FOUND', message: string): ServerMessage {
  return { type: 'watch-refused', id, code, message };
}
