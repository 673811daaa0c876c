import { invariant } from './invariant.ts';
import type { ReplicaState } from './replica-state.ts';
import type { Configuration, Epoch, ReplicaId, VersionedConfiguration } from './types.ts';

/** What the configuration node holds, as a primary knows it, and the one write that it has under way. */
export class ConfigurationWrites {
  readonly #state: ReplicaState;
  readonly #epoch: Epoch;
  readonly #self: ReplicaId;
  /** The first one leaves when the epoch is durable here. */
  readonly #claimSeq: number;
  #current: VersionedConfiguration;
  /** Written, and no answer yet. */
  #pending: Configuration | undefined;

  constructor(
    state: ReplicaState,
    start: {
      readonly self: ReplicaId;
      readonly epoch: Epoch;
      readonly claimSeq: number;
      readonly configuration: VersionedConfiguration;
    },
  ) {
    this.#state = state;
    this.#self = start.self;
    this.#epoch = start.epoch;
    this.#claimSeq = start.claimSeq;
    this.#current = start.configuration;
  }

  get current(): VersionedConfiguration {
    return this.#current;
  }

  get pending(): Configuration | undefined {
    return this.#pending;
  }

  write(inSync: readonly ReplicaId[]): void {
    this.#pending = { epoch: this.#epoch, primary: this.#self, inSync };
    this.#send();
  }

  /** Whether it is news, and whose. A write that has not changed the version is sent again. */
  told(configuration: VersionedConfiguration): 'old' | 'own' | 'of-another' {
    const { version, epoch, primary } = configuration;
    if (version === this.#current.version) this.#send();
    if (version <= this.#current.version) return 'old';
    if (epoch !== this.#epoch || primary !== this.#self) return 'of-another';
    invariant(this.#pending !== undefined, 'configurations-of-an-epoch-are-its-own', () => `version ${version}`);
    this.#current = configuration;
    this.#pending = undefined;
    return 'own';
  }

  #send(): void {
    if (this.#pending === undefined) return;
    this.#state.emit({
      type: 'write-configuration',
      expectedVersion: this.#current.version,
      configuration: this.#pending,
      after: this.#state.pendingSeq === undefined ? undefined : this.#claimSeq,
    });
  }
}
