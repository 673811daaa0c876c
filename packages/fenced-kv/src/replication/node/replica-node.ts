/**
 * One replica of a group on its disk and on the network: its core, its store, and its links to the others. It asks the others for signs of
 * life while it is primary, and has those removed that give none. It leaves to its caller who gets the lock, and to a port where the
 * configuration is kept.
 */

import type { Address, Clock, Logger, Network, Random, Timer } from '@holdfast/runtime';

import type { Engine, Snapshot } from '../../engines/engine.ts';
import type { Configuration, Epoch, ReplicaId, StepDownReason, VersionedConfiguration } from '../core/index.ts';
import { Replica, type ReplicaOptions, type ReplicatedEngine, type ReplicaStore } from '../durable/index.ts';
import { PeerLinks } from '../wire/peer-links.ts';

const DEFAULT_PROBE_MS = 100;
const DEFAULT_REMOVAL_MS = 2_000;
/** How long until the configuration node is asked again, after it could not be reached. */
const RETRY_MS = 200;
/** So many removal times without a majority, and a primary lets others have the lock. */
const CUT_OFF_REMOVALS = 3;
/** But not earlier: whoever begins needs time to be connected. */
const MIN_CUT_OFF_MS = 2_000;
const MAX_APPEND_ENTRIES = 1_024;
const MAX_APPEND_BYTES = 1024 * 1024;
const MAX_IN_FLIGHT_ENTRIES = 2_048;
/** One that its disk writes, and one that it has when that is done. */
const MAX_IN_FLIGHT_APPENDS = 2;

/** The group's configuration node in the ensemble. */
export interface ConfigurationNode {
  /** Linearizable. Rejects where the ensemble cannot be reached. */
  read(): Promise<VersionedConfiguration>;
  /** Sets it if it has that version, and resolves with what it holds then. Where it rejects, the write may be made yet. */
  write(expectedVersion: number, configuration: Configuration): Promise<VersionedConfiguration>;
}

interface ReplicaNodeOptions extends Pick<ReplicaOptions, 'maxLogBytes' | 'maxLogEntries' | 'rules'> {
  readonly group: string;
  readonly listen: Address;
  /** Where every other replica of the group listens. */
  readonly peers: ReadonlyMap<ReplicaId, Address>;
  /** The same for all of them, at least 16 bytes. */
  readonly secret: Uint8Array;
  /** How often a primary asks the others for a sign of life. @default 100 */
  readonly probeMs?: number;
  /** A replica that gives none for so long is removed; until then, no write is acknowledged without it. @default 2,000 */
  readonly removalMs?: number;
}

interface ReplicaNodeDeps {
  readonly engine: Engine;
  /** Of that engine. */
  readonly store: ReplicaStore;
  readonly configuration: ConfigurationNode;
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** A store may be opened on the engine, and serve until the epoch ends. */
  serving(epoch: Epoch, engine: ReplicatedEngine): void;
  /** Release the lock under this epoch. */
  steppedDown(epoch: Epoch, reason: StepDownReason): void;
  /**
   * It leads, and has not heard from a majority of the group for long, so it can do nothing: another one may have the lock. Until that one
   * has claimed the group, this one may go on. @default nothing
   */
  readonly cutOff?: () => void;
  /** The process must stop. */
  failed(error: Error): void;
}

export class ReplicaNode {
  readonly #options: ReplicaNodeOptions;
  readonly #deps: ReplicaNodeDeps;
  readonly #replica: Replica;
  readonly #minInSync: number;
  /** When each of the others has said something, or was given its time anew. */
  readonly #heardMs = new Map<ReplicaId, number>();
  /** Since when there has been no connection to or from it. */
  readonly #lostMs = new Map<ReplicaId, number>();
  /** When each has said something. */
  readonly #saidMs = new Map<ReplicaId, number>();
  /** When a majority was heard last, or was given its time. */
  #majorityMs = 0;
  readonly #timers = new Set<Timer>();
  #links: PeerLinks | undefined;
  #leads = false;
  #probedMs = 0;
  #closed = false;

  private constructor(options: ReplicaNodeOptions, deps: ReplicaNodeDeps) {
    this.#options = options;
    this.#deps = deps;
    const group = [deps.store.id, ...options.peers.keys()];
    const { maxLogBytes, maxLogEntries, rules } = options;
    const limits = {
      ...(maxLogBytes === undefined ? {} : { maxLogBytes }),
      ...(maxLogEntries === undefined ? {} : { maxLogEntries }),
      ...(rules === undefined ? {} : { rules }),
    };
    const minInSync = Math.floor(group.length / 2) + 1;
    this.#minInSync = minInSync;
    const settings = {
      group,
      minInSync,
      maxAppendEntries: MAX_APPEND_ENTRIES,
      maxAppendBytes: MAX_APPEND_BYTES,
      maxInFlightEntries: MAX_IN_FLIGHT_ENTRIES,
      maxInFlightAppends: MAX_IN_FLIGHT_APPENDS,
    };
    this.#replica = new Replica(
      deps.engine,
      deps.store,
      { ...settings, ...limits },
      {
        send: (to, message) => this.#links?.send(to, message),
        writeConfiguration: (expectedVersion, configuration) => this.#write(expectedVersion, configuration),
        serving: (epoch, engine) => deps.serving(epoch, engine),
        steppedDown: (epoch, reason) => deps.steppedDown(epoch, reason),
        failed: (error) => deps.failed(error),
      },
    );
  }

  /** Rejects with ListenError. */
  static async open(options: ReplicaNodeOptions, deps: ReplicaNodeDeps): Promise<ReplicaNode> {
    const node = new ReplicaNode(options, deps);
    const { group, listen, peers, secret } = options;
    const { network, clock, random, logger } = deps;
    for (const replica of peers.keys()) node.#lostMs.set(replica, clock.monotonicMs());
    node.#links = await PeerLinks.open(
      { group, self: deps.store.id, listen, peers, secret },
      {
        network,
        clock,
        random,
        logger,
        message: (from, message) => {
          node.#heardMs.set(from, clock.monotonicMs());
          node.#saidMs.set(from, clock.monotonicMs());
          node.#replica.step({ type: 'message', from, message });
        },
        connected: (replica) => {
          node.#lostMs.delete(replica);
          node.#replica.step({ type: 'connected', replica });
        },
        disconnected: (replica) => node.#lostMs.set(replica, clock.monotonicMs()),
      },
    );
    node.#probeLater();
    return node;
  }

  get status(): Replica['status'] {
    return this.#replica.status;
  }

  /** {@link Replica.committedIn} */
  committedIn(snapshot: Snapshot): Snapshot {
    return this.#replica.committedIn(snapshot);
  }

  /** This replica holds the group's lock under `token`; the configuration was read after it was granted. */
  elected(token: Epoch, configuration: VersionedConfiguration): void {
    this.#replica.step({ type: 'elected', token, configuration });
    this.#probe();
  }

  /** What a watch of the configuration node has told. */
  configurationChanged(configuration: VersionedConfiguration): void {
    this.#replica.step({ type: 'configuration', configuration });
  }

  /** The engine stays open. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    await this.#links?.close();
  }

  #write(expectedVersion: number, configuration: Configuration): void {
    this.#deps.configuration.write(expectedVersion, configuration).then(
      (present) => this.configurationChanged(present),
      () => this.#askLater(),
    );
  }

  /** Whether the write was made is not known: the version of the node tells, and it is sent again where that has not grown. */
  #askLater(): void {
    this.#after(RETRY_MS, () => {
      this.#deps.configuration.read().then(
        (present) => this.configurationChanged(present),
        () => this.#askLater(),
      );
    });
  }

  #probeLater(): void {
    this.#after(this.#options.probeMs ?? DEFAULT_PROBE_MS, () => {
      this.#probe();
      this.#probeLater();
    });
  }

  #probe(): void {
    this.#replica.flush();
    const leads = this.#replica.status.role !== 'replica';
    const nowMs = this.#deps.clock.monotonicMs();
    const removalMs = this.#options.removalMs ?? DEFAULT_REMOVAL_MS;
    const wasStopped = nowMs - this.#probedMs > removalMs / 2;
    const begins = leads && !this.#leads;
    this.#probedMs = nowMs;
    this.#leads = leads;
    for (const replica of this.#options.peers.keys()) {
      // Who was stopped itself gives each of the others its time anew.
      if (wasStopped && this.#lostMs.has(replica)) this.#lostMs.set(replica, nowMs);
      const lostMs = this.#lostMs.get(replica);
      // So does who becomes primary, but not to one that nothing has connected it with for that time: it is gone.
      const givenMs = begins && lostMs !== undefined ? lostMs : nowMs;
      if (wasStopped || begins || !this.#heardMs.has(replica)) this.#heardMs.set(replica, givenMs);
      const silentMs = nowMs - (this.#heardMs.get(replica) ?? nowMs);
      if (leads && silentMs >= removalMs) this.#suspect(replica, nowMs, silentMs);
    }
    if (!leads) return;
    this.#checkMajority(nowMs, { anew: wasStopped || begins, removalMs });
    this.#replica.step({ type: 'probe' });
  }

  #suspect(replica: ReplicaId, nowMs: number, silentMs: number): void {
    this.#heardMs.set(replica, nowMs);
    this.#deps.logger.warn({ replica, silentMs: Math.round(silentMs) }, 'a replica gives no sign of life');
    this.#replica.step({ type: 'suspect', replica });
    this.#links?.reset(replica);
  }

  #checkMajority(nowMs: number, { anew, removalMs }: { readonly anew: boolean; readonly removalMs: number }): void {
    const heard = [...this.#saidMs.values()].filter((saidMs) => nowMs - saidMs < removalMs).length;
    if (anew || heard + 1 >= this.#minInSync) this.#majorityMs = nowMs;
    const silentMs = nowMs - this.#majorityMs;
    if (silentMs < Math.max(CUT_OFF_REMOVALS * removalMs, MIN_CUT_OFF_MS)) return;
    this.#majorityMs = nowMs;
    this.#deps.logger.warn(
      { silentMs: Math.round(silentMs), heard },
      'no majority of the group answers the primary; another one may take its place',
    );
    this.#deps.cutOff?.();
  }

  #after(delayMs: number, action: () => void): void {
    const timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#closed) action();
    });
    this.#timers.add(timer);
  }
}
