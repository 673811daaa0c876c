/** What `fences` measures, and what is asked of each. */

import type { OwnTarget } from '../works/table.ts';

export const FENCES = [
  'postgresql',
  'mariadb',
  'redis',
  'sqlite',
  'files',
  's3',
  'http',
  'fenced-kv-engine',
  'fenced-kv',
  'replicas',
  'fail-over',
] as const;
export type FenceName = (typeof FENCES)[number];

/** Names of the two ways, as the table has them. */
interface Ways {
  readonly without: string;
  readonly through: string;
}

export interface PairPlan extends Ways {
  readonly name: Exclude<FenceName, 'fail-over'>;
  readonly title: string;
  readonly clients: readonly number[];
  /** The share of the writes without the fence that is asked for; not where round trips are judged. */
  readonly share?: { readonly must: number; readonly goal: number };
  /** `judged`: a write may have one more. `counted`: they are told, and nothing is asked. */
  readonly trips?: 'judged' | 'counted';
}

/**
 * Where check and write are one statement (a script, a header), or where there is no server to wait for. A fence that is a statement more in the
 * transaction of the write may wait for one round trip more; the server's time for that statement is not the fence's to save.
 */
const ONE_STATEMENT = { must: 0.9, goal: 0.95 };
const FEW_AND_MANY = [1, 64] as const;
const BOTH: Ways = { without: 'without the fence', through: 'through the fence' };

export const PAIR_PLANS: readonly PairPlan[] = [
  {
    name: 'postgresql',
    title: 'PostgreSQL, UPDATE in a transaction',
    ...BOTH,
    clients: FEW_AND_MANY,
    trips: 'judged',
  },
  { name: 'mariadb', title: 'MariaDB, UPDATE in a transaction', ...BOTH, clients: FEW_AND_MANY, trips: 'judged' },
  { name: 'redis', title: 'Redis, SET', ...BOTH, clients: FEW_AND_MANY, share: ONE_STATEMENT, trips: 'judged' },
  { name: 'sqlite', title: 'SQLite, UPDATE in a transaction', ...BOTH, clients: FEW_AND_MANY, share: ONE_STATEMENT },
  { name: 'files', title: 'files, one of 100 B', ...BOTH, clients: FEW_AND_MANY, trips: 'judged' },
  { name: 's3', title: 'S3 in process, PUT of 100 B', ...BOTH, clients: FEW_AND_MANY, trips: 'judged' },
  {
    name: 'http',
    title: 'HTTP, PUT of 100 B to a service with files',
    ...BOTH,
    clients: FEW_AND_MANY,
    share: ONE_STATEMENT,
    trips: 'judged',
  },
  {
    name: 'fenced-kv-engine',
    title: 'fenced-kv in process, 100 B',
    without: 'plain LMDB',
    through: 'fenced-kv',
    clients: [64],
    share: { must: 0.9, goal: 1 },
  },
  {
    name: 'fenced-kv',
    title: 'fenced-kvd over HTTP, 100 B',
    without: 'plain LMDB behind HTTP',
    through: 'fenced-kvd',
    clients: [64],
  },
  {
    name: 'replicas',
    title: 'fenced-kvd over HTTP, 100 B, three replicas',
    without: 'a single store',
    through: 'three replicas',
    clients: [64],
    share: { must: 0.5, goal: 0.7 },
  },
];

const PREFIX = 'fences: ';

/** Rows of this measurement have a table of their own. */
export function isFencesRow({ work }: { readonly work: string }): boolean {
  return work.startsWith(PREFIX);
}

export interface PairRows {
  readonly without: string;
  readonly through: string;
  readonly target: OwnTarget | undefined;
}

export function pairRows(plan: PairPlan, clients: number): PairRows {
  const work = (way: string): string => `${PREFIX}${plan.title}, ${clientsText(clients)}, ${way}`;
  const without = work(plan.without);
  const target = plan.share === undefined ? undefined : { ...plan.share, baseline: without };
  return { without, through: work(plan.through), target };
}

export interface TripRows {
  readonly without: string;
  readonly through: string;
  readonly sent: string;
}

export function tripRows({ title }: PairPlan): TripRows {
  const work = (what: string): string => `${PREFIX}${title}, ${what}`;
  return {
    without: work('waits of a write without the fence'),
    through: work('waits of a write through the fence'),
    sent: work('sent for a write through the fence'),
  };
}

/** One more may be waited for. */
export function tripTarget(without: number): OwnTarget {
  return { must: without + 1, goal: without };
}

export const FAIL_OVER_ROWS = {
  each: `${PREFIX}kill -9 of the primary of three replicas to the next write, session 1 s, median`,
  worst: `${PREFIX}kill -9 of the primary of three replicas to the next write, session 1 s, worst`,
  target: { must: 1_500, goal: 1_300 },
} as const;

export function clientsText(clients: number): string {
  return `${clients} ${clients === 1 ? 'client' : 'clients'}`;
}
