/**
 * Every change of a node, sent as it is made to whoever listens on this server: watches, wire protocols and dashboards rest on it. It comes
 * out of the store, the one place where nodes change. Without a listener it costs a comparison a change. Nothing that is replicated
 * depends on it: entries do the same, and their outputs are the same, whoever listens.
 */

import type { NodeSlot } from './node-slot.ts';

export type NodeChangeKind =
  /** The node exists now. */
  | 'created'
  /** Its data were set. */
  | 'data'
  /** It is a queue node whose wait became a hold: its mzxid is the token. */
  | 'granted'
  /** It is about to go: notified while its path can still be asked for. */
  | 'deleted'
  /** A child of it came or went, of which was notified just before. */
  | 'children';

/**
 * `node` stands for the node until it is deleted; its path is for the asking (StateMachine.pathOf). `index`: of the entry. Called in
 * the middle of an entry: must not throw, and must ask nothing of the machine but of its tree.
 */
export type NodeListener = (kind: NodeChangeKind, node: NodeSlot, index: number) => void;

export class ChangeFeed {
  /** In the order in which they came; another array for each change of it. */
  #listeners: readonly { readonly notify: NodeListener }[] = [];

  /** Returns what ends it. */
  listen(listener: NodeListener): () => void {
    // Who listens twice ends each by itself.
    const own = { notify: listener };
    this.#listeners = [...this.#listeners, own];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== own);
    };
  }

  notify(kind: NodeChangeKind, node: NodeSlot, index: number): void {
    const listeners = this.#listeners;
    if (listeners.length === 0) return;
    for (const listener of listeners) listener.notify(kind, node, index);
  }
}
