/**
 * Prometheus metrics of the store and of what was asked of it, in a registry of their own. A request costs two counters and a histogram;
 * everything else is read when somebody asks, once a second at most.
 */

import type { Clock } from '@holdfast/runtime';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import { METRICS_MAX_AGE_MS } from '../limits.ts';
import type { StoreFigures } from '../store-types.ts';
import type { GroupFacts } from './store-source.ts';

/** What is read when somebody asks. */
export interface MetricsSource {
  /** Undefined: a replica that does not serve. */
  readonly store: () => StoreFigures | undefined;
  /** Of request bodies and of chunks of values, in memory. */
  readonly heldBytes: () => number;
  /** Connections that follow buckets. */
  readonly followers: () => number;
  /** Of a replica. */
  readonly group?: (() => GroupFacts | undefined) | undefined;
}

export interface MetricsOptions {
  /** With those of the process: its memory, processor time, collections of garbage. */
  readonly ofProcess: boolean;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** One answer, when its head is known. */
export interface Answer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** What was refused or has failed; undefined: neither. */
  readonly code: string | undefined;
  readonly seconds: number;
}

export interface MetricsText {
  readonly contentType: string;
  readonly body: string;
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];
const WHOLE_PATHS: readonly string[] = ['/health', '/metrics', '/openapi.json'];
const PLACES: readonly string[] = ['batch', 'changes', 'fence', 'keys'];
/** Of time to the head of an answer: a commit of a disk is in the middle of them, a look at the ensemble at the end. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export class StoreMetrics {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #refusals: Counter<'code'>;
  readonly #seconds: Histogram<'route'>;
  #page: Promise<string> | undefined;
  #askedAtMs = 0;

  constructor(source: MetricsSource, { ofProcess, clock }: MetricsOptions) {
    this.#clock = clock;
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: 'fenced_kv_requests_total',
      help: 'Requests that were answered, by method, route and status',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#refusals = new Counter({
      name: 'fenced_kv_refusals_total',
      help: 'Requests that were refused or have failed, by the code of the answer',
      labelNames: ['code'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'fenced_kv_request_seconds',
      help: 'Seconds from the turn of a request to the head of its answer, by route',
      labelNames: ['route'],
      buckets: SECONDS,
      registers,
    });
    addStoreMetrics(this.#registry, source);
    if (source.group !== undefined) addGroupMetrics(this.#registry, source.group);
    if (ofProcess) collectDefaultMetrics({ register: this.#registry });
  }

  answered({ method, path, status, code, seconds }: Answer): void {
    const route = routeOf(path);
    this.#requests.inc({ method: METHODS.includes(method) ? method : 'other', route, status: String(status) });
    this.#seconds.observe({ route }, seconds);
    if (code !== undefined) this.#refusals.inc({ code });
  }

  /** Whoever asks within a second of another is given the same. */
  async text(): Promise<MetricsText> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#page === undefined || nowMs >= this.#askedAtMs + METRICS_MAX_AGE_MS) {
      const rendering = this.#registry.metrics();
      this.#askedAtMs = nowMs;
      this.#page = rendering;
      rendering.catch(() => {
        if (this.#page === rendering) this.#page = undefined;
      });
    }
    return { contentType: this.#registry.contentType, body: await this.#page };
  }
}

/** The path with its names left out, so that no client makes labels. */
export function routeOf(path: string): string {
  if (WHOLE_PATHS.includes(path)) return path;
  const [, version, buckets, bucket = '', place, key, ...rest] = path.split('/');
  if (version !== 'v1' || buckets !== 'buckets' || bucket === '' || rest.length > 0) return 'other';
  if (place === undefined) return '/v1/buckets/{bucket}';
  if (key === undefined) return PLACES.includes(place) ? `/v1/buckets/{bucket}/${place}` : 'other';
  return place === 'keys' ? '/v1/buckets/{bucket}/keys/{key}' : 'other';
}

function addStoreMetrics(registry: Registry, { store, heldBytes, followers }: MetricsSource): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  // A replica that does not serve has no store.
  const figure = (read: (figures: StoreFigures) => number): (() => number) => {
    return () => {
      const figures = store();
      return figures === undefined ? 0 : read(figures);
    };
  };
  gauge(
    'fenced_kv_buckets',
    'Buckets; NaN where a record of one is damaged',
    figure(({ buckets }) => buckets),
  );
  gauge('fenced_kv_held_bytes', 'Bytes of bodies and values on their way that are in memory', heldBytes);
  gauge(
    'fenced_kv_uploads',
    'Large values that are being received',
    figure(({ uploads }) => uploads),
  );
  gauge(
    'fenced_kv_followers',
    'Connections that follow buckets; one that has gone counts up to its next heartbeat',
    followers,
  );
  gauge(
    'fenced_kv_history_bytes',
    'Bytes of changes that are remembered for those',
    figure(({ historyBytes }) => historyBytes),
  );
  gauge(
    'fenced_kv_commits_waiting',
    'Commits that wait for the disk',
    figure(({ commits }) => commits.waiting),
  );
  counter(
    'fenced_kv_commits_total',
    'Commits that are durable or were refused',
    figure(({ commits }) => commits.commits),
  );
  counter(
    'fenced_kv_commit_groups_total',
    'Writes of the disk that took them',
    figure(({ commits }) => commits.groups),
  );
  new Counter({
    name: 'fenced_kv_looks_total',
    help: 'Looks at locks of the ensemble, by outcome',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      this.inc({ outcome: 'answered' }, store()?.looks.answered ?? 0);
      this.inc({ outcome: 'failed' }, store()?.looks.failed ?? 0);
    },
  });
}

function addGroupMetrics(registry: Registry, group: () => GroupFacts | undefined): void {
  const gauge = (name: string, help: string, read: (facts: GroupFacts) => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const facts = group();
        if (facts !== undefined) this.set(read(facts));
      },
    });
  };
  gauge('fenced_kv_group_serving', '1 while this replica is the primary and serves', ({ role }) =>
    Number(role === 'primary'),
  );
  gauge('fenced_kv_group_epoch', 'Epoch of the configuration that this replica knows', ({ epoch }) => epoch);
  gauge('fenced_kv_group_in_sync', 'Replicas in sync, as that configuration says', ({ inSync }) => inSync.length);
  gauge('fenced_kv_group_last_index', "Last entry of this replica's log", ({ lastIndex }) => lastIndex);
  gauge(
    'fenced_kv_group_committed_index',
    'Last entry that this replica knows to be acknowledged',
    ({ committedIndex }) => committedIndex,
  );
  gauge('fenced_kv_group_copying', '1 while this replica is being given a copy', ({ copying }) => Number(copying));
}
