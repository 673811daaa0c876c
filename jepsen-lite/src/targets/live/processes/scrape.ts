/** Asks every server for its status and its metrics throughout a run, as a monitoring system does: who leads is known from it. */

import { fetchStatus, type ServerStatus } from '@holdfast/ensemble';

const EVERY_MS = 250;
/** Metrics are scraped once in so many rounds. */
const METRICS_ONE_IN = 8;
const TIMEOUT_MS = 1_000;

/** Of what `/status` shows. */
export interface ScrapedStatus extends ServerStatus {
  readonly lastIndex: number;
  /** None in a release that does not say it. */
  readonly voteBanned?: boolean;
  /** None in a release that has no such thing. */
  readonly stateVersion?: number;
  readonly members: readonly { readonly id: number; readonly role: string; readonly clientAddress: string }[];
}

export interface Scraped {
  readonly statuses: number;
  readonly metrics: number;
  /** Terms after the first one in which a server was seen to lead. */
  readonly leaderChanges: number;
  /** As far as servers told before they ended. */
  readonly snapshotsTaken: number;
  readonly snapshotsInstalled: number;
  /** The highest by which a server has said to apply entries. */
  readonly stateVersion: number;
}

const SNAPSHOTS = ['taken', 'installed'] as const;

export class Scraper {
  readonly #addresses: ReadonlyMap<string, string>;
  readonly #latest = new Map<string, ScrapedStatus>();
  /** Terms in which somebody led. */
  readonly #leaders = new Set<number>();
  #committedSeen = 0;
  #stateVersion = 0;
  #members: { readonly term: number; readonly members: ScrapedStatus['members'] } | undefined;
  #statuses = 0;
  #metrics = 0;
  #rounds = 0;
  /** By kind and host, of the process that runs, and of all processes that ever did. */
  readonly #now = { taken: new Map<string, number>(), installed: new Map<string, number>() };
  readonly #ever = { taken: new Map<string, number>(), installed: new Map<string, number>() };
  /** By host: so many of its processes have ended. */
  readonly #lives = new Map<string, number>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  readonly #broken: (problem: string) => void;
  readonly #saw: (host: string, leads: number | undefined) => void;

  /** `addresses`: of the servers' client ports, by host. `saw` is told each time which term a server leads, if any. */
  constructor(
    addresses: ReadonlyMap<string, string>,
    broken: (problem: string) => void,
    saw: (host: string, leads: number | undefined) => void,
    everyMs = EVERY_MS,
  ) {
    this.#everyMs = everyMs;
    this.#addresses = addresses;
    this.#broken = broken;
    this.#saw = saw;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#rounds += 1;
      for (const host of this.#addresses.keys()) void this.#ask(host, this.#rounds % METRICS_ONE_IN === 0);
    }, this.#everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Its process has ended: what it said last is over, and what the next one counts begins at 0. */
  down(host: string): void {
    this.#lives.set(host, this.#livesOf(host) + 1);
    for (const how of SNAPSHOTS) this.#now[how].delete(host);
    this.#unheard(host);
  }

  /** The number of the leader of the highest term that was told lately; undefined: nobody leads, as far as is known. */
  get leader(): number | undefined {
    const leaders = [...this.#latest.values()].filter(({ role }) => role === 'leader');
    return leaders.toSorted((a, b) => b.term - a.term)[0]?.id;
  }

  /** The highest index that any server has said was committed. */
  get committedSeen(): number {
    return this.#committedSeen;
  }

  /** The leader has neither sessions nor locks. */
  get emptyHanded(): boolean {
    const status = [...this.#latest.values()].find(({ id }) => id === this.leader);
    return status?.sessions === 0 && status.locks === 0;
  }

  get counts(): Scraped {
    const leaderChanges = Math.max(0, this.#leaders.size - 1);
    return {
      statuses: this.#statuses,
      metrics: this.#metrics,
      leaderChanges,
      snapshotsTaken: sum(this.#ever.taken),
      snapshotsInstalled: sum(this.#ever.installed),
      stateVersion: this.#stateVersion,
    };
  }

  /** By host, as far as each told before it ended. */
  get snapshotsTaken(): ReadonlyMap<string, number> {
    return new Map(this.#ever.taken);
  }

  /** As the last leader told that was heard. */
  get members(): ScrapedStatus['members'] | undefined {
    return this.#members?.members;
  }

  get latest(): ReadonlyMap<string, ScrapedStatus> {
    return this.#latest;
  }

  async #ask(host: string, metrics: boolean): Promise<void> {
    const address = this.#addresses.get(host) ?? '';
    const status = (await fetchStatus(address)) as ScrapedStatus | undefined;
    if (status === undefined) {
      this.#unheard(host);
      return;
    }
    this.#statuses += 1;
    this.#latest.set(host, status);
    this.#committedSeen = Math.max(this.#committedSeen, status.commitIndex);
    this.#stateVersion = Math.max(this.#stateVersion, status.stateVersion ?? 0);
    const leads = status.role === 'leader' ? status.term : undefined;
    if (leads !== undefined) this.#leaders.add(leads);
    if (leads !== undefined && leads >= (this.#members?.term ?? 0)) {
      this.#members = { term: leads, members: status.members };
    }
    this.#saw(host, leads);
    if (metrics) await this.#scrapeMetrics(host, address);
  }

  #livesOf(host: string): number {
    return this.#lives.get(host) ?? 0;
  }

  #unheard(host: string): void {
    this.#latest.delete(host);
    this.#saw(host, undefined);
  }

  async #scrapeMetrics(host: string, address: string): Promise<void> {
    const life = this.#livesOf(host);
    let text: string;
    try {
      const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      text = await response.text();
      if (!response.ok) this.#broken(`${host} answers /metrics with ${response.status}: ${text}`);
    } catch {
      // It is down, paused, or cut off; who can be reached is not this one's business.
      return;
    }
    // What a process said that has ended since would be counted as the next one's.
    if (life !== this.#livesOf(host)) return;
    this.#metrics += 1;
    for (const how of SNAPSHOTS) this.#countSnapshots(host, how, text);
    if (!/^holdfast_\w+/m.test(text)) this.#broken(`${host} has no metric of its own at /metrics`);
  }

  #countSnapshots(host: string, how: (typeof SNAPSHOTS)[number], page: string): void {
    const line = new RegExp(`^holdfast_snapshots_total\\{[^}]*how="${how}"[^}]*\\} (\\d+)`, 'm').exec(page);
    const count = Number(line?.[1] ?? 0);
    const before = this.#now[how].get(host) ?? 0;
    this.#now[how].set(host, count);
    this.#ever[how].set(host, (this.#ever[how].get(host) ?? 0) + count - before);
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0);
}
