/** All that a machine tells of its state at one index: every query's answer, as plain data that later entries do not change. */

import {
  PLAIN_NODE,
  type Answer,
  type LockDelay,
  type LockSummary,
  type NodeTraits,
  type Query,
  type QueueEntry,
  type SessionSummary,
  type Stat,
} from '@holdfast/protocol';
import type { SessionInfo, StateCounts } from '@holdfast/state';

import { demand } from '../demand.ts';
import type { Machine } from './machine.ts';

const EVERYTHING = 1_000;

interface NodeView {
  readonly stat: Stat;
  /** One character a byte. */
  readonly data: string;
  readonly traits: NodeTraits;
  readonly names: readonly string[];
}

export interface View {
  readonly index: number;
  /** By whose rules the next entry is applied. */
  readonly stateVersion: number;
  readonly counts: StateCounts;
  /** What all sessions' unacknowledged answers are counted for. */
  readonly replyBytes: number;
  readonly sessions: ReadonlyMap<number, SessionInfo>;
  readonly summaries: readonly SessionSummary[];
  readonly locks: readonly LockSummary[];
  /** Of every lock that is listed. */
  readonly queues: ReadonlyMap<string, readonly QueueEntry[]>;
  /** Of every lock that is delayed. */
  readonly delays: ReadonlyMap<string, LockDelay>;
  /** By path, the root included. */
  readonly nodes: ReadonlyMap<string, NodeView>;
}

export function viewOf(machine: Machine): View {
  const { locks } = ask(machine, { type: 'locks', prefix: '', after: '', limit: EVERYTHING });
  const answers = locks.map(({ lock }) => ({ lock, answer: ask(machine, { type: 'lock', lock }) }));
  const nodes = new Map<string, NodeView>();
  gather(machine, '/', nodes);
  return {
    index: machine.appliedIndex,
    stateVersion: machine.version,
    counts: machine.counts,
    replyBytes: machine.replyBytes,
    sessions: new Map(machine.sessions().map((session) => [session.id, session])),
    summaries: ask(machine, { type: 'sessions', after: 0, limit: EVERYTHING }).sessions,
    locks,
    queues: new Map(answers.map(({ lock, answer }) => [lock, answer.queue])),
    delays: new Map(
      answers.flatMap(({ lock, answer: { delay } }): [string, LockDelay][] =>
        delay === undefined ? [] : [[lock, delay]],
      ),
    ),
    nodes,
  };
}

/** The answer to a query that always has one. @throws BrokenPromiseError for any other */
function ask<T extends Query['type']>(
  machine: Machine,
  query: Extract<Query, { type: T }>,
): Extract<Answer, { type: T }> {
  const answer = machine.query(query);
  demand(answer.type === query.type, () => `${JSON.stringify(query)} was answered ${JSON.stringify(answer)}`);
  return answer as Extract<Answer, { type: T }>;
}

function gather(machine: Machine, path: string, into: Map<string, NodeView>): void {
  const { data, stat, traits = PLAIN_NODE } = ask(machine, { type: 'get', path });
  const names = stat.numChildren === 0 ? [] : ask(machine, { type: 'children', path }).names;
  into.set(path, { stat, names, traits, data: String.fromCharCode(...data) });
  const prefix = path === '/' ? '/' : `${path}/`;
  for (const name of names) gather(machine, prefix + name, into);
}

/** Waits and holds of all locks, by lock and then in queue order. */
export function allAcquires(view: View): (QueueEntry & { readonly lock: string })[] {
  return [...view.queues].flatMap(([lock, queue]) => queue.map((entry) => ({ lock, ...entry })));
}
