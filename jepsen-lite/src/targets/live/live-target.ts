/**
 * Real processes as a target: built servers, the built store, and clients in processes of their own, each on its host. Time is the
 * machine's; a fault has begun when the system says so. A capability that this machine has not is left out.
 */

import { mkdirSync } from 'node:fs';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import type { Violation } from '../../checkers/violation.ts';
import { UNFENCED_BUCKET, type HistoryEvent, type HistoryEventBody } from '../../history/history.ts';
import { each, type Capabilities, type Done, type Effect } from '../../nemeses/target.ts';
import { LEADER, lockOfHolder, PRIMARY, replicaHosts, serverHost, STORE_HOST } from '../../plan/plan.ts';
import { usesLatestVersion } from '../../workloads/index.ts';
import { faultEvent } from '../events.ts';
import { withinLimit } from '../hang.ts';
import type { RunBounds, RunningClient, RunTarget } from '../phases.ts';
import { LiveSystem, type LiveSystemOptions } from './live-system.ts';
import { Canaries } from './network/canary.ts';
import type { OracleOptions } from './oracle/oracle.ts';
import type { Machine } from './processes/machine.ts';
import { dataDirectory, logFile, STORE_PORT } from './processes/programs.ts';
import type { Scraped } from './processes/scrape.ts';
import { usageOf, type Usage } from './processes/usage.ts';
import { whatIsLeft } from './processes/what-is-left.ts';
import { endReplicas } from './replicas/end-replicas.ts';

/** After healing every client works again within ten seconds. */
const RECOVERY_MS = 10_000;
/** A time to live that has just begun ends meanwhile, and its client sees that. */
const QUIET_MS = 25_000;
/** A link carries within it: TCP's pauses have no part, since a canary dials anew. */
const CANARY_MS = 2_000;
/** Clients begin when a leader has been elected. */
const READY_MS = 30_000;
/** After clients work again, for changes of the members to end. */
const CHANGES_MS = 30_000;
/** For what clients leave behind to be let go of: connections, and what they hold. */
const REST_MS = 1_500;
const LOOK_MS = 20;
/** In which a new ensemble comes to the latest state version, unless something is wrong from the beginning. */
const LATEST_VERSION_MS = 40_000;
/** Where it comes to it by an upgrade: for clients to use what it brings. */
const USE_OF_LATEST_MS = 15_000;
/** For each step of healing, and after that for what faults have begun. The longest is the start of a server whose disk is mounted again meanwhile. */
const HEAL_STEP_MS = 90_000;
/** Metrics are scraped every two seconds. */
const SEEN_MS = 3_000;
/** For all servers of a run, one after another: stopped, started, and up with the others. */
const UPGRADE_MS = 600_000;

export interface LiveTargetOptions extends LiveSystemOptions {
  /** Within which every client must work again on the healed system. @default 10,000 */
  readonly recoveryMs?: number;
  /** Within which each step of healing must have ended. @default 90,000 */
  readonly healStepMs?: number;
  /** Told of each step that may hang, as it begins. @default nobody */
  readonly entering?: (step: string) => void;
  /** Told of the first thing that is wrong, as soon as it is known. @default nobody */
  readonly failed?: (violation: Violation) => void;
}

export class LiveTarget implements RunTarget {
  readonly bounds: RunBounds;
  readonly mustStrike = true;
  readonly startTakesTime = true;
  /** Locks are free now and then, and leaders are missing. */
  readonly patienceMs = 3_000;
  readonly originNs = process.hrtime.bigint();
  readonly #options: LiveTargetOptions;
  readonly #system: LiveSystem;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #usageBefore = new Map<string, Usage>();
  #canaries: Canaries | undefined;
  #violation: Violation | undefined;
  #merged: { readonly size: number; readonly events: readonly HistoryEvent[] } = { size: 0, events: [] };
  readonly processes?: Capabilities['processes'];
  readonly links?: Capabilities['links'];
  readonly connections?: Capabilities['connections'];
  readonly delays?: Capabilities['delays'];
  readonly members?: Capabilities['members'];
  readonly power?: Capabilities['power'];
  readonly disks?: Capabilities['disks'];
  readonly damage?: Capabilities['damage'];
  readonly clocks?: Capabilities['clocks'];
  readonly twins?: Capabilities['twins'];
  readonly versions?: Capabilities['versions'];
  readonly strangers?: Capabilities['strangers'];

  constructor(options: LiveTargetOptions) {
    this.#options = options;
    const { directory, healStepMs = HEAL_STEP_MS } = options;
    this.bounds = {
      recoveryMs: options.recoveryMs ?? RECOVERY_MS,
      quietMs: QUIET_MS,
      faultsEndMs: healStepMs,
      seenMs: SEEN_MS,
    };
    mkdirSync(directory, { recursive: true });
    this.#system = new LiveSystem(options, {
      originNs: this.originNs,
      after: (ms, action) => this.after(ms, action),
      runUntil: (condition, maxMs) => this.runUntil(condition, maxMs),
      fail: (name, message) => this.fail(name, message),
      failed: (error) => this.failed(error),
    });
    Object.assign(this, this.#system.capabilities);
  }

  get clients(): readonly RunningClient[] {
    return [...this.#system.clientHosts, this.#system.servers.members.visits];
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** Of a run that goes on, what has been told so far. */
  get history(): readonly HistoryEvent[] {
    const { size } = this.#system.history;
    if (this.#merged.size !== size) this.#merged = { size, events: this.#system.history.merged() };
    return this.#merged.events;
  }

  /** The highest index that a server has said was committed. */
  get committedSeen(): number {
    return this.#system.servers.scraper.committedSeen;
  }

  /** What servers have left, and what was copied of their logs before. */
  get logs(): Pick<OracleOptions, 'directories' | 'archive'> {
    return { directories: this.#system.servers.dataDirectories, archive: this.#system.servers.archive };
  }

  get scraped(): Scraped {
    return this.#system.servers.scraper.counts;
  }

  get struck(): ReadonlyMap<Effect, number> {
    const { effects, network } = this.#options;
    const { snapshotsInstalled } = this.#system.servers.scraper.counts;
    return new Map([...effects.counts, ...network.struck(), ['snapshot-installed', snapshotsInstalled] as const]);
  }

  note(event: HistoryEventBody): void {
    this.#system.history.add('harness', process.hrtime.bigint(), event);
  }

  fail(name: string, message: string): void {
    if (this.#violation !== undefined) return;
    this.#violation = { name, message };
    this.#options.failed?.(this.#violation);
  }

  failed(error: unknown): void {
    this.fail(
      'no-unexpected-error',
      `a fault: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }

  async start(): Promise<void> {
    const { network, scenario } = this.#options;
    const clients = scenario.clients.map(({ name }) => name);
    const hosts = [...this.#system.servers.all.keys(), STORE_HOST, ...replicaHosts(scenario), ...clients];
    if (network.links !== undefined) this.#canaries = await Canaries.start(network, hosts);
    await Promise.all(this.#programs.map((machine) => machine.start()));
    this.#system.servers.scraper.start();
    this.#system.replicas.watch();
    this.#system.servers.archive.start();
    if (!(await this.runUntil(() => this.#system.servers.scraper.leader !== undefined, READY_MS))) {
      this.fail('a-leader-is-elected', `none within ${READY_MS} ms: ${this.describe()}`);
      return;
    }
    if (!(await this.runUntil(() => this.#system.replicas.agree, READY_MS))) {
      this.fail('a-primary-serves', `none within ${READY_MS} ms: ${this.describe()}`);
      return;
    }
    await this.#createControl();
    // Where versions change they are used when all servers have the newer one.
    if (this.#usesLatest && this.#system.upgrade === undefined) {
      await this.runUntil(() => this.#isLatest, LATEST_VERSION_MS);
    }
    const { servers, replicas } = this.#system;
    for (const { host, pid } of [...servers.machines, ...replicas.machines]) {
      const usage = usageOf(pid);
      if (usage !== undefined) this.#usageBefore.set(host, usage);
    }
    await Promise.all([...this.#system.clients.values()].map(({ machine }) => machine.start()));
  }

  async runUntil(condition: () => boolean, maxMs: number): Promise<boolean> {
    const deadline = performance.now() + maxMs;
    while (!condition() && this.#violation === undefined && performance.now() < deadline) await pause(LOOK_MS);
    return this.#violation === undefined && condition();
  }

  after(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#violation !== undefined) return;
      try {
        action();
      } catch (error) {
        this.failed(error);
      }
    }, ms);
    this.#timers.add(timer);
  }

  hostOf(name: string, taken: readonly string[] = []): string | undefined {
    const lock = lockOfHolder(name);
    if (lock !== undefined) return this.#system.holders.of(lock);
    if (name === PRIMARY) return this.#system.replicas.primary;
    if (name !== LEADER) return this.#system.on(this.#system.servers.standIn(name, taken)).host;
    const { leader } = this.#system.servers.scraper;
    return leader === undefined ? undefined : serverHost(leader);
  }

  faultBegins(kind: string, _excuses: boolean, hosts: readonly string[]): void {
    this.note(faultEvent(kind, 'begin', hosts));
  }

  faultEnded(kind: string, _excuses: boolean, hosts: readonly string[]): void {
    this.note(faultEvent(kind, 'end', hosts));
  }

  /** @throws HangError, so that the run ends whatever hangs */
  async heal(): Promise<void> {
    const { network, hardware, healStepMs = HEAL_STEP_MS } = this.#options;
    this.#system.holds.letGoOfAll();
    await this.#step('healing the network', healStepMs, () => network.heal());
    await this.#step('taking strangers from the ports', healStepMs, () => this.#system.strangers.heal());
    for (const { what, act } of hardware.healing) await this.#step(what, healStepMs, act);
    const onAll = (what: string, act: (machine: Machine) => Promise<void>): Done =>
      each(this.#system.machines, (machine) =>
        this.#step(`${what} of ${machine.host}`, healStepMs, () => act(machine)),
      );
    await onAll('the resumption', (machine) => machine.resume());
    await onAll('the end of damage to the log', (machine) => machine.mend());
    await onAll('the start', (machine) => machine.start());
    for (const { client } of this.#system.clients.values()) client.send('healed');
    this.#system.servers.members.changes.heal();
  }

  async afterRecovery(): Promise<void> {
    await this.#membersComeToRest();
    await this.#step('the upgrade of all servers', UPGRADE_MS, () => this.#system.upgrade?.complete());
    if (this.#usesLatest && this.#system.upgrade !== undefined) await this.runUntil(() => false, USE_OF_LATEST_MS);
  }

  get #usesLatest(): boolean {
    return usesLatestVersion(this.#options.scenario.clients);
  }

  get #isLatest(): boolean {
    return this.#system.servers.scraper.counts.stateVersion >= LATEST_STATE_VERSION;
  }

  #step<T>(what: string, limitMs: number, act: () => T | Promise<T>): Promise<T> {
    this.#options.entering?.(what);
    return withinLimit(what, limitMs, act);
  }

  async #membersComeToRest(): Promise<void> {
    const { changes } = this.#system.servers.members;
    if (!changes.used) return;
    if (!(await this.runUntil(() => changes.stable && changes.difference() === undefined, CHANGES_MS))) {
      const problem = changes.difference() ?? changes.describe();
      this.fail('changes-of-the-members-end', `${CHANGES_MS} ms after all worked again ${problem}: ${this.describe()}`);
    }
  }

  stopClients(): void {
    for (const { client } of this.#system.clients.values()) client.send('stop');
    this.#system.servers.members.visits.stop();
  }

  async canary(): Promise<void> {
    const silent = (await this.#canaries?.silent(CANARY_MS)) ?? [];
    if (silent.length === 0) return;
    const links = silent.map(([from, to]) => `${from} to ${to}`).join(', ');
    this.fail('every-link-carries-again', `${CANARY_MS} ms after everything has healed these links do not: ${links}`);
  }

  async afterQuiet(): Promise<void> {
    const { scenario } = this.#options;
    await endReplicas(this.#system, {
      usageBefore: this.#usageBefore,
      runUntil: (condition, maxMs) => this.runUntil(condition, maxMs),
      fail: (name, message) => this.fail(name, `${message}: ${this.describe()}`),
      judgeLeft: (machines) => this.#failForWhatIsLeft(machines),
    });
    if (!(await this.runUntil(() => this.#system.servers.scraper.emptyHanded, this.bounds.quietMs))) {
      this.fail('nothing-is-left-behind', `sessions or locks are still there: ${this.describe()}`);
      return;
    }
    await pause(REST_MS);
    if (scenario.snapshots !== undefined && this.#system.servers.scraper.counts.snapshotsTaken === 0) {
      this.fail('servers-take-snapshots', 'they were to take some often, and took none');
    }
    this.#failForWhatIsLeft([...this.#system.servers.machines, this.#system.store]);
  }

  #failForWhatIsLeft(machines: readonly Machine[]): void {
    const left = whatIsLeft(machines, {
      usageBefore: this.#usageBefore,
      logFileOf: (host) => logFile(this.#options.directory, host),
      dataOf: (host) => dataDirectory(this.#options, host),
      leaves: (host) => this.#system.servers.all.get(host)?.leaves === true,
    });
    for (const { name, message } of left) this.fail(name, message);
  }

  /** All that are no clients. */
  get #programs(): readonly Machine[] {
    const { servers, store, replicas } = this.#system;
    return [...servers.machines, store, ...replicas.machines];
  }

  describe(): string {
    const { servers, replicas, clientHosts } = this.#system;
    return [...servers.describe(), ...replicas.describe(), ...clientHosts.map((client) => client.describe())].join(
      '; ',
    );
  }

  /** Ends every process; the history may still grow until then. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#system.servers.members.changes.close();
    this.#system.servers.members.visits.stop();
    this.#system.servers.scraper.stop();
    this.#system.replicas.stopWatching();
    await this.#system.strangers.close();
    this.#canaries?.close();
    const clients = [...this.#system.clients.values()].map(({ machine }) => machine);
    // Servers have nothing to wait for then.
    await Promise.all(clients.map((machine) => machine.end()));
    // They give back what they hold at servers.
    await Promise.all(this.#system.replicas.machines.map((machine) => machine.end()));
    await Promise.all(this.#programs.map((machine) => machine.end()));
    await this.#system.servers.archive.stop();
  }

  serving(): boolean {
    return this.#system.machines.every(({ atRest }) => atRest);
  }

  /** The bucket without a fence, which shows that writes would go wrong without one. */
  async #createControl(): Promise<void> {
    const url = `http://${this.#options.network.address(STORE_HOST, STORE_PORT)}/v1/buckets/${UNFENCED_BUCKET}`;
    const headers = { 'content-type': 'application/json' };
    const { ok, status } = await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ tokens: 'optional' }) });
    if (!ok) this.fail('the-store-makes-a-bucket', `${url}: ${status}`);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
