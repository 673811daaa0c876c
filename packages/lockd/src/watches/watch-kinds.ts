/** The kinds of watches as bits, and which of them an event concerns. */

import { NODE_EVENT_TYPES, type NodeEventType, type WatchKind } from '@holdfast/protocol';

/** A set of kinds; and what a row of the table says beside them. */
export type WatchBits = number;

export const DATA = 1 << 0;
export const CHILDREN = 1 << 1;
export const PERSISTENT = 1 << 2;
export const RECURSIVE = 1 << 3;
export const KINDS = DATA | CHILDREN | PERSISTENT | RECURSIVE;

const BITS: Readonly<Record<WatchKind, WatchBits>> = {
  data: DATA,
  children: CHILDREN,
  persistent: PERSISTENT,
  recursive: RECURSIVE,
};

/** Kinds that hear of it at the node itself; `children` of the parent alone. */
const HEARD: Readonly<Record<NodeEventType, WatchBits>> = {
  created: DATA | PERSISTENT | RECURSIVE,
  changed: DATA | PERSISTENT | RECURSIVE,
  deleted: DATA | CHILDREN | PERSISTENT | RECURSIVE,
  children: CHILDREN | PERSISTENT,
};

/** Kinds that are over when they have told one event. */
export const ONE_SHOT = DATA | CHILDREN;

export function bitOf(kind: WatchKind): WatchBits {
  return BITS[kind];
}

export function hearers(type: NodeEventType): WatchBits {
  return HEARD[type];
}

export function kindsIn(bits: WatchBits): number {
  let count = 0;
  for (let left = bits & KINDS; left !== 0; left &= left - 1) count += 1;
  return count;
}

const CREATED = NODE_EVENT_TYPES.indexOf('created');
const CHANGED = NODE_EVENT_TYPES.indexOf('changed');
const DELETED = NODE_EVENT_TYPES.indexOf('deleted');
const CHILDREN_CHANGED = NODE_EVENT_TYPES.indexOf('children');

/** For every change of every node: no table is looked into. */
export function eventNumber(type: NodeEventType): number {
  switch (type) {
    case 'created':
      return CREATED;
    case 'changed':
      return CHANGED;
    case 'deleted':
      return DELETED;
    case 'children':
      return CHILDREN_CHANGED;
  }
}
