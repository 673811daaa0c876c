/**
 * Watches: what a client may watch, and what it is told. A server watches for the connection that asked and for no other, and what a
 * watch tells is what it would tell at any server: who is connected anew goes on there, from the index up to which it was told.
 */

import { MAX_PATH_LENGTH } from '../limits.ts';
import { choice, flag, record, text, type ValueOf } from '../schema/field.ts';

/**
 * `data`: one change of the node, its creation or its deletion; `children`: one of its children or its deletion. Both are over when they
 * have told it. `persistent`: every change of the node and of its children; `recursive`: every change of the node and of all below it,
 * of each at its own path, without `children`.
 */
export const WATCH_KINDS = ['data', 'children', 'persistent', 'recursive'] as const;
export type WatchKind = (typeof WATCH_KINDS)[number];

/** `changed`: its data were set, or it is a queue node whose wait became a hold. `children`: one of them came or went. */
export const NODE_EVENT_TYPES = ['created', 'changed', 'deleted', 'children'] as const;
/**
 * What has happened to a node.
 *
 * @example
 * for await (const { type } of client.nodes.watch('/config')) if (type === 'deleted') break;
 */
export type NodeEventType = (typeof NODE_EVENT_TYPES)[number];

/** Digits of a sequential node's number, and more. */
const MAX_SEQUENCE_LENGTH = 32;

const kind = choice(WATCH_KINDS);
const path = text(MAX_PATH_LENGTH + MAX_SEQUENCE_LENGTH);

/** `existed`: the node was there, as far as the client knows, at the index from which the watch is to tell; true when it does not know. */
export const watchedNode = record({ kind, path, existed: flag() });
export interface WatchedNode extends ValueOf<typeof watchedNode> {}

export const unwatchedNode = record({ kind, path });
export interface UnwatchedNode extends ValueOf<typeof unwatchedNode> {}

export const nodeEvent = record({ type: choice(NODE_EVENT_TYPES), path });
export interface NodeEvent extends ValueOf<typeof nodeEvent> {}
