import { Follower } from './follower.ts';
import { invariant } from './invariant.ts';
import { Primary } from './primary.ts';
import { ReplicaState } from './replica-state.ts';
import { RULES, type Rules } from './rules.ts';
import type {
  DurableReplica,
  Effect,
  Entry,
  Epoch,
  Message,
  ReplicaId,
  ReplicationEvent,
  ReplicationOptions,
  StepDownReason,
  VersionedConfiguration,
} from './types.ts';

interface ReplicationStatus {
  readonly role: 'replica' | 'claiming' | 'serving';
  readonly installed: Epoch;
  readonly lastIndex: number;
  /** How far this replica knows the log to be committed; as far as it is applied, after a start. */
  readonly commit: number;
  /** The index of the last entry that is forgotten. */
  readonly base: number;
  /** Gets a copy of the buckets, which is not complete. */
  readonly copying: boolean;
  /** What a primary knows of the configuration. */
  readonly configuration: VersionedConfiguration | undefined;
}

/**
 * One replica of a group. It keeps these promises as long as writes that it is told to be durable are so, and the configuration node
 * changes only by writes that name its version:
 *
 * - what was acknowledged is in the log of every later primary;
 * - a replica that has installed an epoch takes nothing of a lower one;
 * - a read sees everything that was acknowledged, or shown to a reader, before it was asked.
 *
 * The caller carries out the effects in their order. It watches the configuration, holds the lock, and decides who is silent.
 *
 * @example
 * const core = new ReplicationCore(options, EMPTY_REPLICA);
 * const effects = core.step({ type: 'elected', token: 7, configuration });
 */
export class ReplicationCore {
  readonly #options: ReplicationOptions;
  readonly #rules: Rules;
  readonly #state: ReplicaState;
  readonly #follower: Follower;
  #primary: Primary | undefined;

  constructor(options: ReplicationOptions, durable: DurableReplica, rules: Rules = RULES) {
    const { group, self, minInSync, maxAppendEntries } = options;
    invariant(group.includes(self), 'a-replica-is-in-its-group', () => self);
    const isMajority = minInSync * 2 > group.length && minInSync <= group.length;
    invariant(isMajority, 'min-in-sync-is-a-majority', () => `${minInSync} of ${group.length}`);
    invariant(maxAppendEntries >= 1, 'an-append-has-room-for-an-entry');
    this.#options = options;
    this.#rules = rules;
    this.#state = new ReplicaState(durable);
    this.#follower = new Follower(this.#state, rules);
  }

  get status(): ReplicationStatus {
    const primary = this.#primary;
    const { installed, commit, log, cursor } = this.#state;
    const leading = primary?.serving === true ? 'serving' : 'claiming';
    const role = primary === undefined ? 'replica' : leading;
    return {
      role,
      installed,
      lastIndex: log.lastIndex,
      commit,
      base: log.base.index,
      copying: cursor !== undefined,
      configuration: primary?.configuration,
    };
  }

  /** The whole log that is not forgotten; entries behind `status.commit` may go yet. */
  get entries(): readonly Entry[] {
    return this.#state.log.entries;
  }

  /** Undefined where it is forgotten, or not known yet. */
  entryAt(index: number): Entry | undefined {
    return this.#state.log.entryAt(index);
  }

  step(event: ReplicationEvent): readonly Effect[] {
    this.#handle(event);
    return this.#state.takeEffects();
  }

  #handle(event: ReplicationEvent): void {
    switch (event.type) {
      case 'message':
        return this.#receive(event.from, event.message);
      case 'elected':
        return this.#elected(event.token, event.configuration);
      case 'configuration':
        if (this.#primary?.configured(event.configuration) === false) this.#stepDown('superseded');
        return;
      case 'propose':
        if (this.#primary === undefined) this.#state.emit({ type: 'rejected', tickets: [event.ticket] });
        else this.#primary.propose(event.ticket, event.payload);
        return;
      case 'read':
        if (this.#primary === undefined) this.#state.emit({ type: 'rejected', tickets: [event.ticket] });
        else this.#primary.read(event.ticket);
        return;
      case 'persisted':
        this.#state.persisted(event.seq);
        this.#primary?.persisted(event.seq);
        return;
      case 'applied':
        return this.#state.hasApplied(event.upTo);
      case 'forget':
        return this.#state.forget(Math.min(event.upTo, this.#primary?.neededAfter ?? event.upTo));
      case 'copy-read':
        return this.#primary?.copyRead(event.replica, event.copy, event.part);
      case 'probe':
        return this.#primary?.probe();
      case 'connected':
        return this.#primary?.connected(event.replica);
      case 'suspect':
        return this.#primary?.suspect(event.replica);
    }
  }

  #elected(token: Epoch, configuration: VersionedConfiguration): void {
    if (token <= this.#state.installed || token <= configuration.epoch) {
      this.#state.emit({ type: 'stepped-down', epoch: token, reason: 'stale-token' });
      return;
    }
    this.#stepDown('superseded');
    const inSync = this.#rules.claim(configuration, this.#options.self);
    if (inSync === undefined || this.#state.cursor !== undefined) {
      this.#state.emit({ type: 'stepped-down', epoch: token, reason: 'not-in-sync' });
      return;
    }
    // From here on this replica refuses the primary before it, which can acknowledge nothing more. Then it claims the group.
    const claimSeq = this.#state.install(token);
    const start = { epoch: token, configuration, inSync, claimSeq };
    this.#primary = new Primary(this.#options, this.#state, this.#rules, start);
  }

  #receive(from: ReplicaId, message: Message): void {
    if (!this.#options.group.includes(from) || from === this.#options.self) return;
    switch (message.type) {
      case 'install':
        if (message.epoch < this.#state.installed) return this.#follower.refuse(from, message.epoch);
        this.#checkOnePrimary(message.epoch);
        this.#stepDown('superseded');
        return this.#follower.install(from, message);
      case 'append':
        this.#checkOnePrimary(message.epoch);
        return this.#follower.append(from, message);
      case 'copy':
        this.#checkOnePrimary(message.epoch);
        return this.#follower.copy(from, message);
      case 'confirm':
        this.#checkOnePrimary(message.epoch);
        return this.#follower.confirm(from, message);
      case 'installed':
      case 'appended':
      case 'mismatch':
      case 'copied':
      case 'confirmed':
      case 'refused':
        return this.#answered(from, message);
    }
  }

  /** An answer to an epoch that has ended here is for nobody. */
  #answered(from: ReplicaId, message: Exclude<Message, { type: 'install' | 'append' | 'copy' | 'confirm' }>): void {
    const primary = this.#primary;
    if (primary === undefined || message.epoch !== primary.epoch) return;
    switch (message.type) {
      case 'installed':
        return primary.installed(from, message);
      case 'appended':
        return primary.appended(from, message);
      case 'mismatch':
        return primary.mismatched(from, message.prevIndex, message.tryAfter);
      case 'copied':
        return primary.copied(from, message);
      case 'confirmed':
        return primary.confirmed(from, message.round);
      case 'refused':
        if (message.installed > primary.epoch) return this.#stepDown('superseded');
        if (message.installed < primary.epoch) primary.notInstalled(from);
    }
  }

  /** A lock gives each token once, so two replicas never lead in one epoch. */
  #checkOnePrimary(epoch: Epoch): void {
    invariant(epoch !== this.#primary?.epoch, 'an-epoch-has-one-primary', () => `epoch ${epoch}`);
  }

  #stepDown(reason: StepDownReason): void {
    const primary = this.#primary;
    if (primary === undefined) return;
    this.#primary = undefined;
    primary.end();
    this.#state.emit({ type: 'stepped-down', epoch: primary.epoch, reason });
  }
}
