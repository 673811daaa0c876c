/**
 * A whole system that loses a majority of its servers for good: the power fails everywhere, an operator waits until no lease runs any more,
 * begins a new ensemble with what one server has (`lockd recover`), and starts that. The applications with their SDK and the fenced
 * store live through it. What differs between two runs is drawn from the seed.
 */

import { dirname } from 'node:path';
import { LockServer, recover, type Recovery } from '@holdfast/lockd';
import { silentLogger, type Random, type Runtime } from '@holdfast/runtime';
import { SimWorld, type SimHost } from '@holdfast/runtime/sim';
import type { StateMachine } from '@holdfast/state';
import type { HistoryEventBody } from '../../history/history.ts';
import { HistoryRecorder } from '../../history/recorder.ts';
import { Application } from '../../workloads/application.ts';
import { STORE_HOST, serverHost, type ClientPlan } from '../../plan/plan.ts';
import { clientAddress } from './server-host.ts';
import { starter } from './starter.ts';
import { StoreClient, StoreHost } from './store-host.ts';

const SERVERS = [1, 2, 3];
const SEGMENT_BYTES = 16 * 1024;
const OLD_DATA = '/data';
const MAX_SESSION_MS = 3_000;
const RECOVERY_MS = 120_000;
const ROUNDS_AFTER = 2;

export interface LostMajorityRun {
  readonly recorder: HistoryRecorder;
  readonly recovery: Recovery;
  /** Events of the history before the recovery. */
  readonly eventsBefore: number;
  /** The highest index that any server of the old ensemble had applied. */
  readonly oldIndex: number;
  /** Sessions that were in the restored state of a server of the new ensemble. */
  readonly sessionsKept: number;
  /** The first recovery was cut short by a power failure. */
  readonly interrupted: boolean;
  /** How many were begun: each begins a cluster, for all that the next one knows. */
  readonly recoveries: number;
  /** What the servers of the new ensemble had in the end. */
  readonly states: readonly StateMachine[];
}

/** Rejects with what an application, a server or the store could not expect. */
export function loseMajority(seed: number): Promise<LostMajorityRun> {
  return new LostMajority(seed).run();
}

class LostMajority {
  readonly #world: SimWorld;
  readonly #random: Random;
  readonly #recorder = new HistoryRecorder();
  readonly #applications: readonly Application[];
  readonly #store: StoreHost;
  #servers: LockServer[] = [];
  #running = true;
  #oldIndex = 0;
  #sessionsKept = 0;
  #unexpected: unknown;

  constructor(seed: number) {
    const world = new SimWorld({ seed });
    this.#world = world;
    this.#random = world.random('lost majority');
    world.network.setLatency({ minMs: 0.2, maxMs: 6 });
    for (const host of [...SERVERS.map(serverHost), STORE_HOST]) {
      world.host(host).disk.setLatency({ durable: { minMs: 0.1, maxMs: 4 } });
    }
    const unexpected = (error: unknown): void => {
      this.#unexpected ??= error;
    };
    this.#store = new StoreHost(
      world.host(STORE_HOST),
      (event) => this.#recorder.record(STORE_HOST, world.nowMs, event),
      unexpected,
    );
    const applicationWorld = {
      servers: () => SERVERS.map(clientAddress),
      store: (runtime: Runtime) => new StoreClient(runtime),
      locks: 2,
      nextCall: () => this.#recorder.nextCall(),
      record: (who: string, event: HistoryEventBody) => void this.#recorder.record(who, world.nowMs, event),
      nowMs: () => world.nowMs,
      random: (name: string) => world.random(name),
      group: () => undefined,
      running: () => this.#running,
      mayTransfer: () => false,
      drawn: () => undefined,
      believed: () => {},
      unexpected: (_who: string, error: unknown) => unexpected(error),
    };
    this.#applications = ['c1', 'c2', 'c3'].map((name) => {
      const sessionTimeoutMs = this.#between(1_000, MAX_SESSION_MS);
      const plan: ClientPlan = { name, sessionTimeoutMs, workers: this.#between(1, 3) };
      return new Application(plan, starter(world.host(name)), applicationWorld);
    });
  }

  async run(): Promise<LostMajorityRun> {
    const left = this.#between(1, SERVERS.length);
    await this.#startOld();
    this.#store.boot();
    for (const application of this.#applications) application.boot();
    await this.#pass(this.#between(3_000, 9_000));
    // What the others granted meanwhile it has never heard of.
    const behind = this.#random.integer(2) === 0;
    if (behind) this.#host(left).kill();
    if (behind) await this.#pass(this.#between(500, 4_000));
    const asleep = this.#random.integer(2) === 0 ? this.#holder() : undefined;
    asleep?.pause();
    for (const id of SERVERS) this.#host(id).crash({ tear: 'random' });
    await this.#pass(MAX_SESSION_MS + this.#between(500, 5_000));
    const eventsBefore = this.#recorder.events.length;
    const { recovery, interrupted, recoveries } = await this.#recover(left);
    await this.#startNew(left, recovery);
    await this.#works(asleep);
    await this.#end();
    const states = this.#servers.map((server) => server.state);
    return {
      recorder: this.#recorder,
      recovery,
      eventsBefore,
      oldIndex: this.#oldIndex,
      sessionsKept: this.#sessionsKept,
      interrupted,
      recoveries,
      states,
    };
  }

  async #startOld(): Promise<void> {
    const logBytes = [2_000, 16_000, 1_000_000][this.#random.integer(3)] ?? 2_000;
    const snapshots = { snapshotLogBytes: logBytes, snapshotTrailingBytes: logBytes / 2 };
    for (const id of SERVERS) {
      await this.#start(id, {
        clusterId: 'old',
        dataDirectory: OLD_DATA,
        snapshots,
        observer: { applied: ({ index }) => (this.#oldIndex = Math.max(this.#oldIndex, index)) },
      });
    }
  }

  /** On the machine of the server that is left. Once more, elsewhere, when the power fails in the middle. */
  async #recover(left: number): Promise<Pick<LostMajorityRun, 'recovery' | 'interrupted' | 'recoveries'>> {
    if (this.#random.integer(2) === 0) {
      return { recovery: await this.#recoverTo('/recovered', left), interrupted: false, recoveries: 1 };
    }
    const host = this.#host(left);
    let cut = false;
    let done: Recovery | undefined;
    this.#world.after(this.#between(1, 60), () => {
      if (done !== undefined) return;
      cut = true;
      host.crash({ tear: 'random' });
    });
    this.#begin('/first', left).then(
      (recovery) => (done = recovery),
      (error: unknown) => (this.#unexpected ??= error),
    );
    await this.#until(() => cut || done !== undefined);
    // Whether it had come to its end nobody knows: what it made is left alone.
    return { recovery: await this.#recoverTo('/recovered', left), interrupted: cut, recoveries: 2 };
  }

  #recoverTo(to: string, left: number): Promise<Recovery> {
    return this.#world.complete(this.#begin(to, left), { maxMs: RECOVERY_MS });
  }

  #begin(to: string, left: number): Promise<Recovery> {
    const host = this.#host(left);
    if (host.state === 'down') host.restart();
    const { disk, random } = host.runtime;
    const members = SERVERS.map((id) => ({ id, peerAddress: peerAddress(id) }));
    const options = {
      data: OLD_DATA,
      to,
      members,
      clusterId: undefined,
      above: 0,
      acceptLoss: true,
      segmentBytes: SEGMENT_BYTES,
    };
    return recover(options, { disk, random, logger: silentLogger });
  }

  async #startNew(left: number, { clusterId, servers }: Recovery): Promise<void> {
    for (const { id, path } of servers) {
      if (id !== left) await this.#world.complete(this.#copy(path, left, id), { maxMs: RECOVERY_MS });
    }
    this.#servers = [];
    for (const { id, path } of servers) {
      await this.#start(id, {
        clusterId,
        dataDirectory: path,
        observer: {
          restored: (_index, state) => {
            this.#sessionsKept += state.counts.sessions;
          },
        },
      });
    }
  }

  async #start(
    id: number,
    how: Pick<Parameters<typeof LockServer.start>[0], 'clusterId' | 'dataDirectory' | 'snapshots'> &
      Pick<Parameters<typeof LockServer.start>[2], 'observer'>,
  ): Promise<void> {
    const { observer = {}, ...options } = how;
    const host = this.#host(id);
    if (host.state === 'down') host.restart();
    const starting = LockServer.start(
      {
        id,
        clientListen: clientAddress(id),
        peerListen: peerAddress(id),
        members: SERVERS.map((member) => ({ id: member, peerAddress: peerAddress(member) })),
        segmentBytes: SEGMENT_BYTES,
        ...options,
      },
      host.runtime,
      { observer, fatal: (error) => (this.#unexpected ??= error) },
    );
    this.#servers.push(await this.#world.complete(starting, { maxMs: RECOVERY_MS }));
  }

  /** As an operator copies a directory to another machine. */
  async #copy(directory: string, from: number, to: number): Promise<void> {
    const { disk: source } = this.#host(from);
    const host = this.#host(to);
    if (host.state === 'down') host.restart();
    const { disk } = host.runtime;
    for (const path of source.files().filter((file) => file.startsWith(`${directory}/`))) {
      await disk.makeDirectory(dirname(path));
      const file = await disk.open(path, 'create');
      await file.append(0, [source.bytes(path)]);
      await file.close();
      await disk.syncDirectory(dirname(path));
    }
  }

  /** Everybody who is awake has the locks again; then whoever slept through it wakes up, and has them again, too. */
  async #works(asleep: SimHost | undefined): Promise<void> {
    const awake = this.#applications.filter(({ plan }) => plan.name !== asleep?.name);
    await this.#haveTheirLocks(awake);
    if (asleep === undefined) return;
    asleep.resume();
    await this.#haveTheirLocks(this.#applications);
  }

  async #haveTheirLocks(applications: readonly Application[]): Promise<void> {
    const goals = applications.map((application) => ({
      application,
      rounds: (application.rounds ?? 0) + ROUNDS_AFTER,
    }));
    await this.#until(() => goals.every(({ application, rounds }) => (application.rounds ?? 0) >= rounds));
  }

  async #end(): Promise<void> {
    this.#running = false;
    await this.#until(() => this.#applications.every(({ idle }) => idle));
    await this.#until(() => this.#servers.every(({ state }) => state.counts.sessions === 0));
    await this.#until(() => new Set(this.#servers.map(({ state }) => state.appliedIndex)).size === 1);
  }

  /** The machine of an application that has a lock, by what it was told. */
  #holder(): SimHost | undefined {
    const holders = new Map<number, string>();
    for (const event of this.#recorder.events) {
      if (event.type === 'ok' && event.f === 'acquire') holders.set(event.hold, event.process);
      if (event.type === 'invoke' && event.f === 'release') holders.delete(event.hold);
    }
    const name = [...holders.values()].at(-1);
    return name === undefined ? undefined : this.#world.host(name);
  }

  async #until(condition: () => boolean): Promise<void> {
    await this.#world.run({ until: () => this.#unexpected !== undefined || condition(), maxMs: RECOVERY_MS });
    if (this.#unexpected !== undefined) throw this.#unexpected;
  }

  async #pass(ms: number): Promise<void> {
    const endMs = this.#world.nowMs + ms;
    this.#world.after(ms, () => {});
    await this.#until(() => this.#world.nowMs >= endMs);
  }

  #host(id: number): SimHost {
    return this.#world.host(serverHost(id));
  }

  #between(low: number, high: number): number {
    return low + this.#random.integer(high - low + 1);
  }
}

function peerAddress(id: number): string {
  return `${serverHost(id)}:7200`;
}
