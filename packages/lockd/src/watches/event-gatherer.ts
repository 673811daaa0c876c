/**
 * Finds who is to hear of a change, while the entry is applied that makes it. Each watcher gets one event for a change, in however many ways
 * it watches, and one `children` of a node for an entry. What changes where a watch is found, as a node comes or goes, happens here too.
 */

import type { NodeEvent, NodeEventType } from '@holdfast/protocol';
import type { NodeChangeKind, NodeSlot, TreeLookup } from '@holdfast/state';
import type { EventHistory } from './event-history.ts';
import { KINDS, ONE_SHOT, RECURSIVE, hearers, type WatchBits } from './watch-kinds.ts';
import { NONE } from './watch-rows.ts';
import type { WatchTable } from './watch-table.ts';
import type { Watcher } from './watcher.ts';

export interface EventGathererDeps {
  readonly table: WatchTable;
  readonly history: EventHistory;
  tree(): TreeLookup;
}

export class EventGatherer {
  readonly #deps: EventGathererDeps;
  /** Those who have something to hear of the entry. */
  #hearers: Watcher[] = [];
  /** Nodes of whose children this entry has told. */
  readonly #childrenTold = new Set<NodeSlot>();
  /** Counts the changes. */
  #change = 0;
  #type: NodeEventType = 'created';
  #node = 0 as NodeSlot;
  /** Of the change: made when somebody hears of it, and shared by all. */
  #event: NodeEvent | undefined;

  constructor(deps: EventGathererDeps) {
    this.#deps = deps;
  }

  hear(kind: NodeChangeKind, node: NodeSlot, index: number): void {
    const { table } = this.#deps;
    if (kind === 'children' && table.rows === 0) return;
    const type = eventType(kind);
    if (type !== 'children') this.#deps.history.record(type, node, index, this.#deps.tree());
    if (table.rows === 0) return;
    this.#change += 1;
    this.#type = type;
    this.#node = node;
    this.#event = undefined;
    switch (type) {
      case 'created':
        if (table.hasMissing) table.appeared(node, this.#toldAs().path);
        this.#tellAt(node, hearers(type));
        this.#tellAbove(node);
        return;
      case 'changed':
        this.#tellAt(node, hearers(type));
        this.#tellAbove(node);
        return;
      case 'deleted':
        this.#childrenTold.delete(node);
        this.#tellAt(node, KINDS);
        this.#tellAbove(node);
        if (table.firstAt(node) !== NONE) table.vanished(node, this.#toldAs().path);
        return;
      case 'children':
        if (this.#childrenTold.has(node)) return;
        this.#childrenTold.add(node);
        this.#tellAt(node, hearers(type));
    }
  }

  /** Who has something to hear of the entry, which is over. */
  take(): readonly Watcher[] {
    if (this.#childrenTold.size > 0) this.#childrenTold.clear();
    const hearing = this.#hearers;
    if (hearing.length > 0) this.#hearers = [];
    return hearing;
  }

  #tellAt(node: NodeSlot, heard: WatchBits): void {
    const { table } = this.#deps;
    for (let row = table.firstAt(node); row !== NONE;) {
      const next = table.nextAt(row);
      const kinds = table.kinds(row) & heard;
      if (kinds !== 0) this.#tell(row, kinds & ONE_SHOT);
      row = next;
    }
  }

  /** Recursive watches of the nodes above. */
  #tellAbove(node: NodeSlot): void {
    const { table } = this.#deps;
    if (!table.hasRecursive) return;
    const tree = this.#deps.tree();
    for (let at = node; at !== tree.root;) {
      at = tree.parent(at);
      this.#tellAt(at, RECURSIVE);
    }
  }

  /** @param over kinds that are over by that */
  #tell(row: number, over: WatchBits): void {
    const { table } = this.#deps;
    const watcher = table.watcher(row);
    // Whoever is told nothing now is told later what is left of it, by the same watches.
    if (watcher.behindFrom !== undefined) return;
    if (over !== 0) table.drop(row, over);
    if (watcher.lastChange === this.#change) return;
    watcher.lastChange = this.#change;
    if (watcher.events.length === 0) this.#hearers.push(watcher);
    watcher.events.push(this.#toldAs());
  }

  #toldAs(): NodeEvent {
    this.#event ??= { type: this.#type, path: this.#deps.tree().path(this.#node) };
    return this.#event;
  }
}

function eventType(kind: NodeChangeKind): NodeEventType {
  return kind === 'data' || kind === 'granted' ? 'changed' : kind;
}
