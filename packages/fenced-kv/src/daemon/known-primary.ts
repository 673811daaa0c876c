/** What a replica tells clients of its group: the newest configuration that it has heard of, and where its primary answers. */

import type { Clock, Logger, Timer } from '@holdfast/runtime';

import type { ReplicaId, VersionedConfiguration } from '../replication/core/index.ts';
import type { RegisteredReplica } from '../replication/node/replica-registry.ts';

/** How long until the address of a primary is asked for again. */
const RETRY_MS = 500;

interface KnownPrimaryDeps {
  /** Undefined where it is not registered. Rejects where the ensemble cannot be asked. */
  find(replica: ReplicaId): Promise<RegisteredReplica | undefined>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Pick<Logger, 'debug'>;
}

export class KnownPrimary {
  readonly #deps: KnownPrimaryDeps;
  readonly #urls = new Map<ReplicaId, string>();
  #configuration: VersionedConfiguration | undefined;
  #retry: Timer | undefined;
  #stopped = false;

  constructor(deps: KnownPrimaryDeps) {
    this.#deps = deps;
  }

  get configuration(): VersionedConfiguration | undefined {
    return this.#configuration;
  }

  /** null where it is not known yet. */
  urlOf(replica: ReplicaId): string | null {
    return this.#urls.get(replica) ?? null;
  }

  /** What is older than what is known changes nothing. */
  heard(configuration: VersionedConfiguration): void {
    const before = this.#configuration;
    if (before !== undefined && before.version > configuration.version) return;
    this.#configuration = configuration;
    // In each epoch anew: a replica may have come back under another address.
    if (before?.epoch !== configuration.epoch) this.#look(configuration);
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
  }

  #look(configuration: VersionedConfiguration): void {
    const { primary, epoch } = configuration;
    this.#retry?.cancel();
    this.#deps.find(primary).then(
      (found) => {
        if (found === undefined) this.#lookLater(configuration);
        else this.#urls.set(primary, found.url);
      },
      (error: unknown) => {
        this.#deps.logger.debug({ err: error, replica: primary, epoch }, 'the address of the primary is not known');
        this.#lookLater(configuration);
      },
    );
  }

  #lookLater(configuration: VersionedConfiguration): void {
    if (this.#stopped || this.#configuration?.epoch !== configuration.epoch) return;
    this.#retry = this.#deps.clock.setTimer(RETRY_MS, () => this.#look(configuration));
  }
}
