/**
 * A replica's life: it registers its directory under its id, joins the group, and has a store while it is the primary. Until it has reached
 * the ensemble it takes no part. Whatever fails there is tried again; a directory that must not take part ends the process.
 */

import type { Client } from '@holdfast/client';
import type { Network, Random, Timer } from '@holdfast/runtime';

import type { Snapshot } from '../engines/engine.ts';
import { EngineError } from '../engines/engine-error.ts';
import { ExpiryLoop } from '../expiry-loop.ts';
import { FencedStore } from '../fenced-store.ts';
import { NotPrimaryError } from '../http/store-source.ts';
import type { GroupFacts, Served, StoreSource } from '../http/store-source.ts';
import type { Epoch, StepDownReason } from '../replication/core/index.ts';
import { directoryName, replicaDirectory, ReplicaStore } from '../replication/durable/index.ts';
import type { ReplicatedEngine } from '../replication/durable/index.ts';
import { EnsembleConfiguration } from '../replication/node/ensemble-configuration.ts';
import { GroupMembership } from '../replication/node/group-membership.ts';
import { ReplicaNode } from '../replication/node/replica-node.ts';
import { ReplicaRegistry } from '../replication/node/replica-registry.ts';
import type { StoreOptions } from '../store-types.ts';
import type { Backend, BackendDeps } from './backend.ts';
import { openEngine } from './data-directory.ts';
import type { OpenedEngine } from './data-directory.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';
import { KnownPrimary } from './known-primary.ts';
import { failureOf, isFinal } from './replica-failures.ts';
import { whenLogIsCommitted } from './committed-log.ts';
import type { ReplicaSettings } from './replica-settings.ts';

/** How long until the ensemble is asked again, where it could not be reached at the start. */
const RETRY_MS = 500;
const DIRECTORY_NAME_BYTES = 16;

export interface ReplicaBackendDeps extends BackendDeps {
  readonly network: Network;
  readonly random: Random;
  /** A session of its own at the ensemble. Rejects where it cannot be had. */
  connect(signal: AbortSignal): Promise<Client>;
}

export interface ReplicaBackendOptions {
  readonly settings: ReplicaSettings;
  readonly secret: Uint8Array;
  readonly store: StoreOptions;
}

/** The store of one epoch. */
interface Serving extends Served {
  readonly epoch: Epoch;
  readonly expiry: ExpiryLoop;
}

export class ReplicaBackend implements Backend, StoreSource {
  readonly #settings: ReplicaSettings;
  readonly #secret: Uint8Array;
  readonly #storeOptions: StoreOptions;
  readonly #deps: ReplicaBackendDeps;
  readonly #opened: OpenedEngine<void>;
  readonly #membership: GroupMembership;
  readonly #stop = new AbortController();
  /** Pauses before something is tried again, and what ends each. */
  readonly #pauses = new Map<Timer, () => void>();
  readonly #known: KnownPrimary;
  #client: Client | undefined;
  #node: ReplicaNode | undefined;
  /** The epoch in which this replica is primary; its store may not be open yet. */
  #leading: Epoch | undefined;
  #serving: Serving | undefined;
  #joining: Promise<void> = Promise.resolve();
  #stopped: Promise<unknown>[] = [];

  private constructor(
    settings: ReplicaSettings,
    secret: Uint8Array,
    storeOptions: StoreOptions,
    deps: ReplicaBackendDeps,
    opened: OpenedEngine<void>,
  ) {
    this.#settings = settings;
    this.#secret = secret;
    this.#storeOptions = storeOptions;
    this.#deps = deps;
    this.#opened = opened;
    const registry = (): ReplicaRegistry => {
      if (this.#client === undefined) throw new Error('the ensemble cannot be reached yet');
      return new ReplicaRegistry(this.#client.nodes, settings.group);
    };
    this.#known = new KnownPrimary({ ...deps, find: async (replica) => await registry().find(replica) });
    this.#membership = new GroupMembership({
      ...deps,
      group: settings.group,
      connect: async () => {
        this.#client = await deps.connect(this.#stop.signal);
        return this.#client;
      },
    });
  }

  /** Rejects with ExitError, where the directory is that of another replica too. */
  static async open(data: string, options: ReplicaBackendOptions, deps: ReplicaBackendDeps): Promise<ReplicaBackend> {
    const { settings } = options;
    const opened = await openEngine(data, deps, async (engine) => {
      const { id } = replicaDirectory(engine);
      if (id === undefined || id === settings.id) return;
      throw new ExitError(
        EXIT_CODE.usage,
        `data directory ${data} is that of replica ${id}, and --replica-id says ${settings.id}; correct one of them`,
      );
    });
    return ReplicaBackend.on(opened, options, deps);
  }

  /** The same on an engine that is open, whose directory is that of this replica or of none; the backend closes it. */
  static on(
    opened: OpenedEngine<void>,
    { settings, secret, store }: ReplicaBackendOptions,
    deps: ReplicaBackendDeps,
  ): ReplicaBackend {
    return new ReplicaBackend(settings, secret, store, deps, opened);
  }

  get source(): StoreSource {
    return this;
  }

  get group(): GroupFacts {
    return this.#facts();
  }

  present(): Served {
    if (this.#serving === undefined) throw new NotPrimaryError(this.#facts());
    return this.#serving;
  }

  async snapshot(): Promise<Snapshot> {
    // Who is primary has the newest of it; another one what was acknowledged when it is asked.
    await this.#serving?.confirm?.();
    const deps = { clock: this.#deps.clock, signal: this.#stop.signal };
    return await whenLogIsCommitted(
      () => this.#facts(),
      deps,
      () => {
        if (this.#node === undefined) throw new NotPrimaryError(this.#facts());
        return this.#node.committedIn(this.#opened.engine.snapshot());
      },
    );
  }

  begin(url: string): void {
    const advertised = this.#settings.advertise ?? url;
    this.#joining = this.#join(advertised).catch((error: unknown) => this.#failed(error));
  }

  stopFollowing(): void {
    this.#serving?.store.stopFollowing();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const [timer, wake] of this.#pauses) {
      timer.cancel();
      wake();
    }
    this.#known.stop();
    this.#endServing();
    await this.#joining;
    await this.#node?.close();
    await this.#membership.stop();
    await Promise.allSettled(this.#stopped);
    await this.#opened.close();
  }

  async #join(url: string): Promise<void> {
    const { group, id, peers, peerListen: listen, removalMs } = this.#settings;
    const { engine } = this.#opened;
    const isNew = replicaDirectory(engine).id === undefined;
    const draw = (): string => Buffer.from(this.#deps.random.bytes(DIRECTORY_NAME_BYTES)).toString('hex');
    const directory = await directoryName(engine, draw);
    const adopt = await this.#untilReached(async (client) => {
      // First, since a directory that must not take part must not have the id.
      const isFirst = isNew && (await this.#begunWith(client));
      await new ReplicaRegistry(client.nodes, group).register(id, { directory, url });
      return isFirst;
    });
    if (adopt === undefined) return;
    const store = await ReplicaStore.open(engine, () => id, { adopt });
    const deps = {
      ...this.#deps,
      engine,
      store,
      configuration: this.#membership,
      serving: (epoch: Epoch, primary: ReplicatedEngine) => this.#serve(epoch, primary),
      steppedDown: (epoch: Epoch, reason: StepDownReason) => {
        this.#endServing();
        this.#membership.steppedDown(epoch, reason);
      },
      cutOff: () => this.#membership.giveUp(),
      failed: (error: Error) => this.#failed(error),
    };
    const node = await ReplicaNode.open({ group, listen, peers, secret: this.#secret, removalMs }, deps);
    this.#node = node;
    if (this.#stop.signal.aborted) return;
    this.#deps.logger.info({ group, replica: id, peers: [...peers.keys()] }, 'joined the group');
    this.#membership.start({
      elected: (token, configuration) => {
        this.#known.heard(configuration);
        node.elected(token, configuration);
      },
      configurationChanged: (configuration) => {
        this.#known.heard(configuration);
        node.configurationChanged(configuration);
      },
    });
  }

  /** Makes the group where this new directory is one of those with which it begins. Whether what the directory has is the group's. */
  async #begunWith(client: Client): Promise<boolean> {
    const { group, id, initialInSync } = this.#settings;
    const { hasData } = replicaDirectory(this.#opened.engine);
    const alone = initialInSync?.length === 1 && initialInSync[0] === id;
    if (initialInSync?.includes(id) === true && (!hasData || alone)) {
      const { epoch, inSync } = await new EnsembleConfiguration(client.nodes, group).create(initialInSync);
      if (hasData && epoch === 0 && inSync.length === 1 && inSync[0] === id) return true;
    }
    if (!hasData) return false;
    throw new ExitError(
      EXIT_CODE.usage,
      'the data directory has data and was in no group; a new group begins with it by --initial-in-sync ' +
        `${id}, with this replica alone, and in a group that exists a replica begins with an empty directory`,
    );
  }

  /** Undefined where it is being closed. Rejects where it must not take part. */
  async #untilReached<T>(work: (client: Client) => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#stop;
    for (;;) {
      let client: Client | undefined;
      try {
        client = await this.#deps.connect(signal);
        return await work(client);
      } catch (error) {
        if (isFinal(error)) throw error;
        if (signal.aborted) return undefined;
        this.#deps.logger.warn({ err: error }, 'the ensemble could not be asked; trying again');
      } finally {
        await client?.close().catch(() => {});
      }
      await this.#pause();
      if (signal.aborted) return undefined;
    }
  }

  async #pause(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#deps.clock.setTimer(RETRY_MS, () => {
        this.#pauses.delete(timer);
        resolve();
      });
      this.#pauses.set(timer, resolve);
    });
  }

  #serve(epoch: Epoch, engine: ReplicatedEngine): void {
    this.#leading = epoch;
    FencedStore.open(engine, this.#storeOptions).then(
      (store) => {
        // It may have ended meanwhile.
        if (this.#stop.signal.aborted || this.#leading !== epoch) return;
        const expiry = new ExpiryLoop(store, this.#deps);
        this.#serving = { store, epoch, expiry, confirm: async () => await engine.confirm() };
        this.#deps.logger.info({ group: this.#settings.group, epoch }, 'this replica is the primary');
      },
      (error: unknown) => {
        if (!(error instanceof EngineError && error.code === 'CLOSED')) this.#failed(error);
      },
    );
  }

  #endServing(): void {
    const serving = this.#serving;
    this.#leading = undefined;
    this.#serving = undefined;
    serving?.store.stopFollowing();
    if (serving !== undefined) this.#stopped = [...this.#stopped.slice(-1), serving.expiry.stop()];
  }

  #facts(): GroupFacts {
    const status = this.#node?.status;
    const configuration = status?.configuration ?? this.#known.configuration;
    const { primary, epoch = 0, inSync = [] } = configuration ?? {};
    const role = status === undefined || status.role === 'replica' ? 'replica' : 'claiming';
    return {
      group: this.#settings.group,
      replica: this.#settings.id,
      role: this.#serving === undefined ? role : 'primary',
      epoch,
      primary: primary === undefined || epoch === 0 ? null : { replica: primary, url: this.#known.urlOf(primary) },
      inSync,
      lastIndex: status?.lastIndex ?? 0,
      committedIndex: status?.commit ?? 0,
      copying: status?.copying ?? false,
    };
  }

  #failed(error: unknown): void {
    this.#endServing();
    this.#deps.onFailure(failureOf(error, this.#settings));
  }
}
