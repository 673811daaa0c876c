/** The works and what is asked of us in each: factors of the better peer's figure (`must`), and what we aim at (`goal`). */

import { NODES_A_TRANSACTION, type LoopedWork } from '../generator/closed-loop.ts';

export const WORKS = [
  'cycles',
  'hand-overs',
  'writes',
  'transactions',
  'linearizable-reads',
  'session-reads',
  'watchers',
  'leader-kill',
  'memory',
  'restart',
  'clients',
  'lock-kinds',
  'sdk',
  'elections',
  'waiters',
  'fences',
  'fail-over',
  'quiet',
  'join',
  'crowd',
  'watches',
  'large-transactions',
  'resume',
  'outages',
] as const;
export type WorkName = (typeof WORKS)[number];

/** Of our own servers alone, or long: they run when they are named. */
export const WORKS_ON_REQUEST: readonly WorkName[] = [
  'lock-kinds',
  'sdk',
  'elections',
  'waiters',
  'fences',
  'fail-over',
  'quiet',
  'join',
  'crowd',
  'watches',
  'large-transactions',
  'resume',
  'outages',
];

export interface Target {
  /** Of the better peer's figure; at least that for rates, at most that for times and sizes. */
  readonly must: number;
  readonly goal: number;
  /** The one peer that counts; both where it is not given. */
  readonly peer?: 'zookeeper';
}

/** What is asked of us without a peer: factors of another figure of ours, or where none is named a figure in the unit of the row. */
export interface OwnTarget {
  readonly must: number;
  readonly goal: number;
  /** The row of ours whose figure is 1; its unit is the same. */
  readonly baseline?: string;
}

export interface LoadRow {
  readonly group: WorkName;
  /** Unique among all rows. */
  readonly work: string;
  readonly load: LoopedWork;
  readonly sessions: number;
  /** Requests under way, of all sessions together. */
  readonly outstanding: number;
  readonly unit: string;
  /** What the unit counts in each answer. @default 1 */
  readonly operationsEach?: number;
  readonly target: Target;
  /** A second row out of the same windows: the median latency. */
  readonly latency?: { readonly work: string; readonly target: Target };
  readonly redis: boolean;
}

function cycles(sessions: number, must: number, goal: number): LoadRow {
  return {
    group: 'cycles',
    work: `acquire+release, ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`,
    load: 'cycles',
    sessions,
    outstanding: sessions,
    unit: 'cycles/s',
    target: { must, goal },
    redis: true,
    ...(sessions === 1 ? { latency: { work: 'acquire p50, 1 session', target: { must: 0.7, goal: 0.5 } } } : {}),
  };
}

function requests(
  group: 'writes' | 'linearizable-reads' | 'session-reads',
  title: string,
  outstanding: number,
  target: Target,
): LoadRow {
  const amount = outstanding === 64 ? '64 clients' : `64 clients, ${outstanding.toLocaleString('en')} outstanding`;
  return {
    group,
    work: `${title}, ${amount}`,
    load: group,
    sessions: 64,
    outstanding,
    unit: group === 'writes' ? 'writes/s' : 'reads/s',
    target,
    redis: false,
  };
}

export const LOAD_ROWS: readonly LoadRow[] = [
  cycles(1, 1.1, 1.5),
  cycles(16, 1.8, 3),
  cycles(64, 2.2, 3),
  cycles(256, 2.8, 4),
  {
    group: 'hand-overs',
    work: 'contended hand-overs, 64 waiters',
    load: 'hand-overs',
    sessions: 64,
    outstanding: 64,
    unit: 'hand-overs/s',
    target: { must: 1.6, goal: 2.2 },
    redis: false,
  },
  requests('writes', 'writes of 100 B', 64, { must: 1, goal: 1.5 }),
  requests('writes', 'writes of 100 B', 1_024, { must: 1, goal: 2 }),
  {
    group: 'transactions',
    work: `transactions of ${NODES_A_TRANSACTION} operations, 64 clients`,
    load: 'transactions',
    sessions: 64,
    outstanding: 64,
    unit: 'operations/s',
    operationsEach: NODES_A_TRANSACTION,
    target: { must: 1.5, goal: 3, peer: 'zookeeper' },
    redis: false,
  },
  requests('linearizable-reads', 'linearizable reads', 64, { must: 0.8, goal: 1.2 }),
  requests('session-reads', 'session reads', 64, { must: 0.7, goal: 1 }),
  requests('session-reads', 'session reads', 1_024, { must: 0.7, goal: 1.2 }),
];

export interface SingleRow {
  readonly group: 'watchers' | 'leader-kill' | 'memory' | 'restart';
  readonly work: string;
  readonly unit: string;
  readonly target: Target;
}

export const WATCHERS_ROW: SingleRow = {
  group: 'watchers',
  work: 'one change to 1,000 watchers on 50 sessions, last told',
  unit: 'ms',
  target: { must: 1.2, goal: 0.8 },
};

export const LEADER_KILL_ROW: SingleRow = {
  group: 'leader-kill',
  work: 'kill -9 of the leader to the next successful write',
  unit: 'ms',
  target: { must: 0.6, goal: 0.2 },
};

export function memoryRow(ephemerals: number, sessions: number): SingleRow {
  return {
    group: 'memory',
    work: `leader RSS, ${ephemerals.toLocaleString('en')} ephemerals in ${sessions.toLocaleString('en')} sessions`,
    unit: 'MiB',
    target: { must: 0.9, goal: 0.6, peer: 'zookeeper' },
  };
}

export function restartRow(nodes: number): SingleRow {
  return {
    group: 'restart',
    work: `restart of one server, ${nodes.toLocaleString('en')} nodes of 100 B`,
    unit: 's',
    target: { must: 1.5, goal: 0.7 },
  };
}

/** The second table's rows, through client libraries. */
export const CLIENT_SESSIONS = [1, 16, 64, 256] as const;
