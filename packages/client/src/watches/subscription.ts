/** A node that this client watches in one way, for all who do: at a server it is one watch. */

import { MAX_WATCHES_A_MESSAGE, type NodeEvent } from '@holdfast/protocol';
import type { NodeWatch, WatchKindUsed } from './node-watch.ts';

/** Of the paths in one message; far below what a server takes. */
const MAX_PATH_UNITS_A_MESSAGE = 128 * 1024;

/** A watch message that was sent through the present connection. */
export interface WatchRequest {
  readonly id: number;
  readonly from: number;
  readonly subscriptions: readonly Subscription[];
  /** Whose read it carries. */
  readonly reader: NodeWatch | undefined;
  /** Up to where its watches were told before it is answered. */
  through: number;
}

/** Whether the watch is told by it: not one that has joined the others when they had asked already, and wants to hear of more. */
export function tells({ from }: Pick<WatchRequest, 'from'>, { explicit, hasStarted, cursor }: NodeWatch): boolean {
  return from === 0 || hasStarted || !explicit || cursor >= from;
}

export class Subscription {
  readonly kind: WatchKindUsed;
  readonly path: string;
  readonly watches = new Set<NodeWatch>();
  /** Of the present connection; undefined until the message that watches it is sent. */
  request: WatchRequest | undefined;
  /** The server of the present connection has confirmed it. */
  confirmed = false;
  /** It was sent through some connection. */
  sent = false;
  /** There was a node when its watches were told last; true while that is not known. */
  existed = true;

  constructor(kind: WatchKindUsed, path: string) {
    this.kind = kind;
    this.path = path;
  }

  /** From where a server has to tell; 0: from now on. */
  get from(): number {
    const cursors = [...this.watches].map(({ cursor }) => cursor);
    if (!this.sent && cursors.every((cursor) => cursor === 0)) return 0;
    // One that was asked for through a connection that is lost, or beside others, begins with what its client had seen then.
    return Math.min(...[...this.watches].map(({ cursor, madeAt }) => (cursor === 0 ? madeAt : cursor)));
  }

  /** Whoever wants to read the node in the step in which it is watched. */
  get reader(): NodeWatch | undefined {
    return [...this.watches].find(({ read, hasStarted }) => read !== undefined && !hasStarted);
  }

  /** Everything up to that index was told to its watches; `request`: to those that it tells. */
  told(through: number, request?: WatchRequest): void {
    for (const watch of this.watches) {
      if (request === undefined || tells(request, watch)) watch.cursor = Math.max(watch.cursor, through);
    }
  }

  hears({ type, path }: NodeEvent): boolean {
    return path === this.path ? this.kind === 'persistent' || type !== 'children' : this.kind === 'recursive';
  }

  saw({ type, path }: NodeEvent): void {
    if (path === this.path) this.existed = type !== 'deleted';
  }
}

export function keyOf(kind: WatchKindUsed, path: string): string {
  return kind === 'recursive' ? `r${path}` : `p${path}`;
}

/** Those which begin at one index together, in as few messages as there can be; one whose node is to be read, by itself. */
export function inMessages(
  subscriptions: Iterable<Subscription>,
): { readonly from: number; readonly subscriptions: readonly Subscription[]; readonly reader?: NodeWatch }[] {
  const reading: { from: number; subscriptions: readonly Subscription[]; reader: NodeWatch }[] = [];
  const byFrom = new Map<number, Subscription[]>();
  for (const subscription of subscriptions) {
    const { reader } = subscription;
    if (reader !== undefined) {
      reading.push({ from: subscription.from, subscriptions: [subscription], reader });
      continue;
    }
    const same = byFrom.get(subscription.from);
    if (same === undefined) byFrom.set(subscription.from, [subscription]);
    else same.push(subscription);
  }
  const others = [...byFrom].flatMap(([from, all]) => pieces(all).map((piece) => ({ from, subscriptions: piece })));
  return [...others, ...reading];
}

function pieces(all: readonly Subscription[]): Subscription[][] {
  const found: Subscription[][] = [];
  let piece: Subscription[] = [];
  let units = 0;
  for (const subscription of all) {
    const full = piece.length === MAX_WATCHES_A_MESSAGE || units + subscription.path.length > MAX_PATH_UNITS_A_MESSAGE;
    if (full && piece.length > 0) {
      found.push(piece);
      piece = [];
      units = 0;
    }
    piece.push(subscription);
    units += subscription.path.length;
  }
  if (piece.length > 0) found.push(piece);
  return found;
}
