/**
 * The watches of this server's clients. They live here, with the connection, and are replicated nowhere: the state machine's change feed
 * says what happens, and what an entry did goes to its watchers before any answer that shows it, all of it in one message, by index. A
 * client that was away tells up to where it was told, and goes on from there at any server.
 */

import { MAX_WATCHES_A_MESSAGE, MAX_WATCHES_PER_CONNECTION, pathProblem, type ErrorCode } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import type { Clock } from '@holdfast/runtime';
import type { NodeSlot, StateMachine, TreeLookup } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import { MAX_EVENTS_BYTES, MAX_WATCHED_PATH_UNITS_A_MESSAGE, MAX_WATCHES } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { SessionClient } from '../port/session-client.ts';
import type { UnwatchRequest, WatchRequest } from '../port/session-port.ts';
import type { Reads } from '../requests/reads.ts';
import { inTurn, readProblem } from '../requests/watch-reads.ts';
import { EventGatherer } from './event-gatherer.ts';
import { EventHistory } from './event-history.ts';
import { pastOf, wantedNodes, type Past } from './past-events.ts';
import { SlowWatchers, tooMuch } from './slow-watchers.ts';
import { toldBytes } from './told-bytes.ts';
import { WaitingWatches } from './waiting-watches.ts';
import { bitOf } from './watch-kinds.ts';
import { NONE } from './watch-rows.ts';
import { WatchTable, weightOf } from './watch-table.ts';
import { Watcher } from './watcher.ts';

export interface WatchesDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly state: StateMachine;
  readonly reads: Pick<Reads, 'inTurn'>;
  /** Of the history of changes; 0: there is none. */
  readonly historyBytes: number;
  wake(): void;
}

const NO_PAST: readonly never[] = [];

export class Watches implements ServerPart {
  readonly history: EventHistory;
  readonly #deps: WatchesDeps;
  readonly #byNumber: (Watcher | undefined)[] = [];
  readonly #byClient = new Map<SessionClient, Watcher>();
  readonly #table = new WatchTable(this.#byNumber);
  readonly #gatherer: EventGatherer;
  readonly #slow: SlowWatchers;
  readonly #waiting: WaitingWatches;
  readonly #freeNumbers: number[] = [];
  /** Who was sent events in this turn. */
  #sentThisTurn: Watcher[] = [];
  /** The tree of which the table's slots are, while it is being replaced. */
  #treeBefore: TreeLookup | undefined;

  constructor(deps: WatchesDeps) {
    const { state, clock } = deps;
    this.#deps = deps;
    this.history = new EventHistory(deps.historyBytes);
    const tree = (): TreeLookup => state.tree;
    this.#gatherer = new EventGatherer({ table: this.#table, history: this.history, tree });
    this.#slow = new SlowWatchers({ ...deps, table: this.#table, tree, appliedIndex: () => state.appliedIndex });
    this.#waiting = new WaitingWatches({
      clock,
      reached: (client, request) => this.#inTurn(client, request),
      late: (client, { id }, index) => this.#late(client, id, index),
    });
    state.listen((kind, node, index) => this.#gatherer.hear(kind, node, index));
  }

  /** As they count against limits. */
  get size(): number {
    return this.#table.weight;
  }

  /** Connections that are told nothing now, since they do not read. */
  get slow(): number {
    return this.#slow.size;
  }

  /** Up to which index the client was told everything; undefined for one that watches nothing. */
  told(client: SessionClient): number | undefined {
    const watcher = this.#byClient.get(client);
    return watcher === undefined ? undefined : (watcher.behindFrom ?? this.#deps.state.appliedIndex);
  }

  watch(client: SessionClient, request: WatchRequest): void {
    const { id, from, minIndex, nodes } = request;
    const { appliedIndex } = this.#deps.state;
    const problem = problemOf(id, nodes) ?? readProblem(request);
    if (problem !== undefined) {
      this.#refuse(client, id, 'INVALID_ARGUMENT', problem);
      return;
    }
    const units = nodes.reduce((sum, { path }) => sum + path.length, 0);
    if (nodes.length > MAX_WATCHES_A_MESSAGE || units > MAX_WATCHED_PATH_UNITS_A_MESSAGE) {
      const bound = `${MAX_WATCHES_A_MESSAGE} nodes and paths of ${MAX_WATCHED_PATH_UNITS_A_MESSAGE} characters`;
      this.#refuse(client, id, 'LIMIT_EXCEEDED', `a watch message has at most ${bound}; send several`);
      return;
    }
    const index = Math.max(from, minIndex);
    if (index <= appliedIndex) {
      this.#inTurn(client, request);
    } else if (!this.#waiting.add(client, request, index)) {
      this.#refuse(client, id, 'OVERLOADED', 'too many watches wait for what this server has not applied; try again');
    }
  }

  unwatch(client: SessionClient, { id, nodes }: UnwatchRequest): void {
    const problem = problemOf(id, nodes);
    if (problem !== undefined) {
      this.#refuse(client, id, 'INVALID_ARGUMENT', problem);
      return;
    }
    const watcher = this.#byClient.get(client);
    const tree = this.#deps.state.tree;
    const places = nodes.map(({ path, kind }) => {
      const row = watcher === undefined ? NONE : this.#table.find(watcher, tree.find(path), path);
      return { row, bit: bitOf(kind) };
    });
    const seen = new Set<number>();
    const twice = places.findIndex(({ row, bit }) => {
      const key = row * 2 ** 8 + bit;
      return seen.has(key) || seen.size === seen.add(key).size;
    });
    const none = places.findIndex(({ row, bit }) => row === NONE || (this.#table.kinds(row) & bit) === 0);
    const wrong = none >= 0 ? nodes[none] : nodes[twice];
    if (wrong !== undefined) {
      const text = `this connection has no ${wrong.kind} watch on ${wrong.path}${none >= 0 ? '' : ' but the one that is named twice'}`;
      this.#refuse(client, id, 'NOT_FOUND', `${text}; what was told its one event is over by itself`);
      return;
    }
    for (const { row, bit } of places) this.#table.drop(row, bit);
    client.send({ type: 'unwatched', id, index: this.#deps.state.appliedIndex });
  }

  /** What the entry did is told before its reply is. */
  applied({ index }: Entry): void {
    for (const watcher of this.#gatherer.take()) this.#tell(watcher, index);
  }

  restoring(): void {
    const { state } = this.#deps;
    this.#treeBefore = state.tree;
    for (const watcher of this.#byClient.values()) {
      if (watcher.behindFrom === undefined) this.#slow.pause(watcher, state.appliedIndex);
    }
  }

  restored(index: number): void {
    const { state, counters } = this.#deps;
    if (this.#treeBefore !== undefined) this.#table.rekey(this.#treeBefore, state.tree);
    this.#treeBefore = undefined;
    this.history.reset(index);
    for (const watcher of this.#byClient.values()) {
      if (this.#slow.has(watcher)) continue;
      counters.watchersOverSnapshot += 1;
      this.#slow.catchUp(watcher);
    }
  }

  clientClosed(client: SessionClient): void {
    this.#waiting.gone(client);
    const watcher = this.#byClient.get(client);
    if (watcher === undefined) return;
    for (let row = watcher.firstRow; row !== NONE; row = watcher.firstRow)
      this.#table.drop(row, this.#table.kinds(row));
    this.#slow.gone(watcher);
    this.#byClient.delete(client);
    this.#byNumber[watcher.number] = undefined;
    this.#freeNumbers.push(watcher.number);
  }

  endOfTurn(): void {
    this.#waiting.applied(this.#deps.state.appliedIndex);
  }

  /** What was sent is the connection's to count from here on. */
  flush(): void {
    if (this.#sentThisTurn.length === 0) return;
    for (const watcher of this.#sentThisTurn) watcher.turnBytes = 0;
    this.#sentThisTurn = [];
  }

  stop(): void {
    this.#slow.stop();
    this.#waiting.stop();
  }

  #tell(watcher: Watcher, index: number): void {
    const { events, client } = watcher;
    watcher.events = [];
    const bytes = toldBytes(events);
    if (bytes > MAX_EVENTS_BYTES) {
      client.goodbye('OVERLOADED', tooMuch(index));
      return;
    }
    this.#deps.counters.watchEvents += events.length;
    if (watcher.turnBytes === 0) this.#sentThisTurn.push(watcher);
    watcher.turnBytes += bytes;
    client.send({ type: 'events', id: 0, through: index, events });
    this.#slow.told(watcher, index);
  }

  #inTurn(client: SessionClient, request: WatchRequest): void {
    inTurn(this.#deps.reads, client, request, (refusal) => {
      if (refusal === undefined) this.#register(client, request);
      else this.#refuse(client, request.id, refusal.code, refusal.message);
    });
  }

  #register(client: SessionClient, request: WatchRequest): void {
    if (!client.open) return;
    const { id, from, nodes, read } = request;
    const { state, counters } = this.#deps;
    const { tree, appliedIndex } = state;
    const present = this.#byClient.get(client);
    if (present?.behindFrom !== undefined) {
      const text = 'this connection has not read what it was told, and is told nothing more for now; read, then watch';
      this.#refuse(client, id, 'OVERLOADED', text);
      return;
    }
    const slots = nodes.map(({ path }) => tree.find(path));
    const problem = this.#twice(present, request, slots) ?? this.#overLimit(present, request);
    if (problem !== undefined) {
      this.#refuse(client, id, problem.code, problem.message);
      return;
    }
    const past = from === 0 || from === appliedIndex ? undefined : this.#past(request);
    const watcher = present ?? this.#newWatcher(client);
    for (const message of past?.messages ?? NO_PAST) {
      client.send(message);
      if (message.type === 'missed') counters.watchesMissed += 1;
      else counters.watchEvents += message.events.length;
    }
    if (past === undefined) {
      for (const [at, { path, kind }] of nodes.entries()) this.#table.add(watcher, slots[at], path, bitOf(kind));
    } else {
      for (const [path, kinds] of past.wanted) this.#table.add(watcher, tree.find(path), path, kinds);
    }
    const answer = read === undefined ? {} : { answer: state.query(read.query) };
    client.send({ type: 'watching', id, index: appliedIndex, existing: bitmap(slots), ...answer });
  }

  #past(request: WatchRequest): Past {
    const { state, counters } = this.#deps;
    const past = pastOf(request, { history: this.history, tree: state.tree, through: state.appliedIndex });
    if (past.source === 'history') counters.watchesFromHistory += 1;
    else counters.watchesBehindHistory += 1;
    return past;
  }

  #twice(
    watcher: Watcher | undefined,
    request: WatchRequest,
    slots: readonly (NodeSlot | undefined)[],
  ): { readonly code: ErrorCode; readonly message: string } | undefined {
    const again = request.nodes.find(({ path, kind }, at) => {
      const row = watcher === undefined ? NONE : this.#table.find(watcher, slots[at], path);
      return row !== NONE && (this.#table.kinds(row) & bitOf(kind)) !== 0;
    });
    if (again !== undefined) {
      const text = `this connection has a ${again.kind} watch on ${again.path} already; one tells everything`;
      return { code: 'INVALID_ARGUMENT', message: `${text}, share it` };
    }
    if (wantedNodes(request) !== undefined) return undefined;
    return { code: 'INVALID_ARGUMENT', message: 'the message names a node twice in the same way; once is enough' };
  }

  #overLimit(
    watcher: Watcher | undefined,
    { nodes }: WatchRequest,
  ): { readonly code: ErrorCode; readonly message: string } | undefined {
    const weight = nodes.reduce((sum, { path }) => sum + weightOf(path), 0);
    const ofConnection = (watcher?.weight ?? 0) + weight;
    if (ofConnection > MAX_WATCHES_PER_CONNECTION) {
      const text = `a connection has at most ${MAX_WATCHES_PER_CONNECTION} watches, and would have ${ofConnection}`;
      return { code: 'LIMIT_EXCEEDED', message: `${text}; a recursive watch tells of many nodes` };
    }
    if (this.#table.weight + weight <= MAX_WATCHES) return undefined;
    return { code: 'LIMIT_EXCEEDED', message: `this server has ${MAX_WATCHES} watches already; use another` };
  }

  #newWatcher(client: SessionClient): Watcher {
    const watcher = new Watcher(client, this.#freeNumbers.pop() ?? this.#byNumber.length);
    this.#byNumber[watcher.number] = watcher;
    this.#byClient.set(client, watcher);
    return watcher;
  }

  #late(client: SessionClient, id: number, index: number): void {
    const { appliedIndex } = this.#deps.state;
    const text = `this server has applied ${appliedIndex}, and the watch is to begin behind ${index}`;
    this.#refuse(client, id, 'NOT_CAUGHT_UP', `${text}; ask another, or an index that was reached`);
  }

  #refuse(client: SessionClient, id: number, code: ErrorCode, message: string): void {
    client.send({ type: 'watch-refused', id, code, message });
  }
}

function problemOf(id: number, nodes: readonly { readonly path: string }[]): string | undefined {
  if (id === 0) return 'the id 0 stands for all watches; use another';
  for (const { path } of nodes) {
    const problem = pathProblem(path);
    if (problem !== undefined) return `path ${JSON.stringify(path.slice(0, 100))} ${problem}`;
  }
  return undefined;
}

/** Which of them are there. */
function bitmap(slots: readonly (NodeSlot | undefined)[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(slots.length / 8));
  for (const [at, slot] of slots.entries())
    if (slot !== undefined) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
  return bits;
}
