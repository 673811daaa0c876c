/**
 * Watchers who do not read what they are told. Nothing is kept for them: beyond a bound of unread bytes they are told nothing more. When
 * they have read, they are told what can still be seen, and that the rest is missed. Those whose server has skipped entries by a snapshot
 * are told the same, at once.
 */

import type { NodeEvent, NodeEventType } from '@holdfast/protocol';
import type { Clock, Timer } from '@holdfast/runtime';
import type { TreeLookup } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import { BEHIND_LOOK_MS, MAX_BEHIND_LOOK_MS, MAX_EVENTS_BYTES, MAX_UNREAD_EVENT_BYTES } from '../limits.ts';
import { lastingTraces } from './lasting-traces.ts';
import { KINDS, ONE_SHOT } from './watch-kinds.ts';
import { NONE } from './watch-rows.ts';
import type { WatchTable } from './watch-table.ts';
import type { Watcher } from './watcher.ts';
import { toldBytes } from './told-bytes.ts';

export interface SlowWatchersDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly table: WatchTable;
  tree(): TreeLookup;
  appliedIndex(): number;
  wake(): void;
}

export class SlowWatchers {
  readonly #deps: SlowWatchersDeps;
  readonly #behind = new Set<Watcher>();
  #timer: Timer | undefined;
  #lookMs = BEHIND_LOOK_MS;

  constructor(deps: SlowWatchersDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#behind.size;
  }

  has(watcher: Watcher): boolean {
    return this.#behind.has(watcher);
  }

  /** It was told everything up to that index. */
  told(watcher: Watcher, index: number): void {
    const { client, turnBytes } = watcher;
    if (!client.open || client.unreadBytes + turnBytes <= MAX_UNREAD_EVENT_BYTES) return;
    this.pause(watcher, index);
    this.#behind.add(watcher);
    this.#lookLater();
  }

  /** It is told nothing behind that index until {@link catchUp}. */
  pause(watcher: Watcher, index: number): void {
    this.#deps.table.markExisting(watcher);
    watcher.behindFrom = index;
  }

  gone(watcher: Watcher): void {
    this.#behind.delete(watcher);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Tells it what can be told of what it was not. */
  catchUp(watcher: Watcher): void {
    const { counters } = this.#deps;
    const from = watcher.behindFrom;
    if (from === undefined) return;
    watcher.behindFrom = undefined;
    const through = this.#deps.appliedIndex();
    if (through === from) return;
    const events = this.#traces(watcher, from);
    const bytes = toldBytes(events);
    if (bytes > MAX_EVENTS_BYTES) {
      watcher.client.goodbye('OVERLOADED', tooMuch(through));
      return;
    }
    if (watcher.recursive > 0) {
      counters.watchesMissed += 1;
      watcher.client.send({ type: 'missed', id: 0, from, through });
    }
    if (events.length > 0) {
      counters.watchEvents += events.length;
      watcher.client.send({ type: 'events', id: 0, through, events });
    }
    this.#deps.wake();
  }

  #traces(watcher: Watcher, from: number): NodeEvent[] {
    const { table } = this.#deps;
    const tree = this.#deps.tree();
    const events: NodeEvent[] = [];
    for (let row = watcher.firstRow; row !== NONE;) {
      const next = table.nextOf(row);
      const trace = { existed: table.existed(row), node: table.node(row), from };
      const types = new Set<NodeEventType>();
      let over = 0;
      for (let bit = 1; bit <= KINDS; bit <<= 1) {
        if ((table.kinds(row) & bit) === 0) continue;
        const told = lastingTraces(bit, trace, tree);
        for (const type of told) types.add(type);
        if (told.length > 0) over |= bit & ONE_SHOT;
      }
      if (types.size > 0) {
        const path = table.path(row, tree);
        for (const type of types) events.push({ type, path });
      }
      if (over !== 0) table.drop(row, over);
      row = next;
    }
    return events;
  }

  #lookLater(): void {
    this.#timer ??= this.#deps.clock.setTimer(this.#lookMs, () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    const caughtUp = [...this.#behind].filter(({ client }) => client.unreadBytes <= MAX_UNREAD_EVENT_BYTES / 2);
    for (const watcher of caughtUp) {
      this.#behind.delete(watcher);
      this.catchUp(watcher);
    }
    this.#lookMs = caughtUp.length > 0 ? BEHIND_LOOK_MS : Math.min(2 * this.#lookMs, MAX_BEHIND_LOOK_MS);
    if (this.#behind.size > 0) this.#lookLater();
  }
}

export function tooMuch(index: number): string {
  return `what index ${index} has done to the nodes that this connection watches is over ${MAX_EVENTS_BYTES} bytes; watch fewer on each connection`;
}
