import { ConfigurationWrites } from './configuration-writes.ts';
import { invariant } from './invariant.ts';
import { OwnWrites } from './own-writes.ts';
import { Progress } from './progress.ts';
import type { ReplicaState } from './replica-state.ts';
import type { Rules } from './rules.ts';
import type {
  CopyCursor,
  CopyPart,
  Entry,
  Epoch,
  Message,
  MessageOf,
  ReplicaId,
  ReplicationOptions,
  VersionedConfiguration,
} from './types.ts';
import { Waiting } from './waiting.ts';

/**
 * One epoch of a replica that holds the group's lock.
 *
 *   claiming → the configuration names it → installing → every in-sync replica has the barrier → serving
 *
 * It ends with the epoch, and so does all that it knows of the others.
 */
export class Primary {
  readonly epoch: Epoch;
  readonly #options: ReplicationOptions;
  readonly #state: ReplicaState;
  readonly #rules: Rules;
  readonly #others = new Map<ReplicaId, Progress>();
  readonly #configuration: ConfigurationWrites;
  /** The index of the epoch's first entry; undefined before the configuration names this replica. */
  #barrier: number | undefined;
  #serving = false;
  readonly #own = new OwnWrites();
  readonly #waiting: Waiting;
  #round = 0;

  /** The epoch is installed at this replica by write `claimSeq`. */
  constructor(
    options: ReplicationOptions,
    state: ReplicaState,
    rules: Rules,
    start: {
      readonly epoch: Epoch;
      readonly configuration: VersionedConfiguration;
      readonly inSync: readonly ReplicaId[];
      readonly claimSeq: number;
    },
  ) {
    this.#options = options;
    this.#state = state;
    this.#rules = rules;
    this.epoch = start.epoch;
    this.#waiting = new Waiting(state, start.epoch);
    this.#configuration = new ConfigurationWrites(state, { ...start, self: options.self });
    this.#own.begun(start.claimSeq, state.log.lastIndex);
    for (const replica of options.group) {
      if (replica !== options.self) this.#others.set(replica, new Progress(replica));
    }
    this.#configuration.write(start.inSync);
  }

  get serving(): boolean {
    return this.#serving;
  }

  get configuration(): VersionedConfiguration {
    return this.#configuration.current;
  }

  /** What copies under way go on from: later entries are kept for them. */
  get neededAfter(): number | undefined {
    const bases = [...this.#others.values()].flatMap(({ copying }) => (copying === undefined ? [] : [copying.index]));
    return bases.length === 0 ? undefined : Math.min(...bases);
  }

  /** Whether the configuration leaves this replica primary. */
  configured(configuration: VersionedConfiguration): boolean {
    const news = this.#configuration.told(configuration);
    if (news !== 'own') return news === 'old';
    if (this.#barrier === undefined) this.#beginInstalling();
    this.#advance();
    return true;
  }

  propose(ticket: number, payload: Uint8Array): void {
    if (!this.#serving) {
      this.#state.emit({ type: 'rejected', tickets: [ticket] });
      return;
    }
    this.#waiting.proposed({ ticket, index: this.#append(payload) });
    for (const other of this.#others.values()) this.#sendEntries(other);
  }

  /** Sees every write that was acknowledged before, or shown to a reader. */
  read(ticket: number): void {
    if (!this.#serving) {
      this.#state.emit({ type: 'rejected', tickets: [ticket] });
      return;
    }
    this.#round += 1;
    const index = Math.max(this.#state.commit, this.#barrier ?? 0);
    this.#waiting.asked({ ticket, index, round: this.#round });
    this.#askAll();
    this.#advance();
  }

  /** One that has not installed the epoch says so, and is asked to install it again. */
  probe(): void {
    if (this.#barrier !== undefined) this.#askAll();
  }

  persisted(seq: number): void {
    this.#own.ended(seq);
    this.#advance();
  }

  installed(from: ReplicaId, { lastIndex, copy, cursor }: MessageOf<'installed'>): void {
    const other = this.#heard(from);
    if (other === undefined || this.#barrier === undefined) return;
    const follows = copy === other.copy;
    other.installed = true;
    if (other.copying !== undefined && !(follows && cursor === undefined)) {
      // The copy has not begun there, or the replica says how far it has come.
      this.#readCopy(other, (follows ? cursor : undefined) ?? '');
      return;
    }
    if (!follows) return;
    other.endCopy();
    other.hasInstalled(lastIndex, this.#state.log.lastIndex);
    this.#sendEntries(other, { evenIfNone: true });
  }

  appended(from: ReplicaId, { copy, index }: MessageOf<'appended'>): void {
    const other = this.#heard(from);
    // A copy drops the log of the replica: what it has answered before is gone.
    if (copy !== other?.copy) return;
    invariant(index <= this.#state.log.lastIndex, 'replicas-have-what-was-sent', () => `${from}: ${index}`);
    other.endCopy();
    other.hasAppended(index);
    this.#sendEntries(other);
    this.#advance();
  }

  copied(from: ReplicaId, { copy, cursor }: MessageOf<'copied'>): void {
    const other = this.#heard(from);
    if (other?.copying !== undefined && copy === other.copy) this.#readCopy(other, cursor);
  }

  copyRead(replica: ReplicaId, copy: number, part: CopyPart): void {
    const other = this.#others.get(replica);
    if (other?.copying === undefined || copy !== other.copy || !other.installed) return;
    this.#send(replica, { type: 'copy', epoch: this.epoch, copy, base: other.copying, part });
  }

  mismatched(from: ReplicaId, prevIndex: number, tryAfter: number): void {
    const other = this.#heard(from);
    if (other === undefined || other.copying !== undefined) return;
    this.#sendEntries(other, { evenIfNone: other.disagrees(prevIndex, tryAfter) });
  }

  confirmed(from: ReplicaId, round: number): void {
    const other = this.#heard(from);
    if (other === undefined) return;
    other.round = Math.max(other.round, round);
    this.#advance();
  }

  /** The replica has a lower epoch than this one. */
  notInstalled(from: ReplicaId): void {
    const other = this.#heard(from);
    if (other !== undefined) this.#install(other);
  }

  connected(replica: ReplicaId): void {
    const other = this.#others.get(replica);
    if (other === undefined) return;
    other.suspected = false;
    this.#install(other);
    if (this.#waiting.reading) this.#send(replica, { type: 'confirm', epoch: this.epoch, round: this.#round });
  }

  suspect(replica: ReplicaId): void {
    const other = this.#others.get(replica);
    if (other === undefined) return;
    other.suspected = true;
    if (other.copying !== undefined) {
      // Entries are kept for a copy, but not for a replica that may never come back. When it does, it gets another one.
      other.endCopy();
      this.#install(other);
    }
    this.#changeConfiguration();
  }

  /** Ends the epoch here: what it had under way is told. */
  end(): void {
    this.#waiting.end();
  }

  #beginInstalling(): void {
    this.#barrier = this.#append(undefined);
    for (const other of this.#others.values()) this.#install(other);
  }

  #askAll(): void {
    for (const { replica } of this.#others.values()) {
      this.#send(replica, { type: 'confirm', epoch: this.epoch, round: this.#round });
    }
  }

  #install(other: Progress): void {
    if (this.#barrier === undefined) return;
    other.restart();
    this.#send(other.replica, { type: 'install', epoch: this.epoch });
  }

  #append(payload: Uint8Array | undefined): number {
    const entry: Entry = { index: this.#state.log.lastIndex + 1, epoch: this.epoch, payload };
    this.#own.begun(this.#state.write(undefined, [entry]), entry.index);
    return entry.index;
  }

  /** Entries leave before they are durable here: whether they are counts for the acknowledgement alone. */
  #sendEntries(other: Progress, { evenIfNone = false } = {}): void {
    if (!other.installed || other.copying !== undefined) return;
    const { log, commit } = this.#state;
    const prevIndex = other.next - 1;
    if (prevIndex < log.base.index) return this.#beginCopy(other);
    const { maxAppendEntries, maxAppendBytes, maxInFlightEntries, maxInFlightAppends } = this.#options;
    // One that is slower than this one would have to keep them in its memory. The next answer brings more, all in one append.
    const busy = other.inFlight >= maxInFlightEntries || other.inFlightAppends >= maxInFlightAppends;
    if (busy && !evenIfNone) return;
    const entries = log.from(other.next, maxAppendEntries, maxAppendBytes);
    if (entries.length === 0 && !evenIfNone) return;
    const prevEpoch = log.epochAt(prevIndex);
    invariant(prevEpoch !== undefined, 'sent-entries-follow-known-ones', () => `${prevIndex} of ${log.lastIndex}`);
    other.sent(entries.length);
    const { copy } = other;
    this.#send(other.replica, { type: 'append', epoch: this.epoch, copy, prevIndex, prevEpoch, commit, entries });
  }

  /** Nobody counts on a replica that is outside the sets in force: it may lose what it has. */
  #beginCopy(other: Progress): void {
    const { log, applied } = this.#state;
    const { replica } = other;
    invariant(
      !this.#inForce.includes(replica),
      'replicas-in-sync-are-not-copied-to',
      () => `${replica}: ${other.next}`,
    );
    const epoch = log.epochAt(applied);
    invariant(epoch !== undefined, 'what-is-applied-is-in-the-log', () => `${applied} of ${log.lastIndex}`);
    other.beginCopy({ index: applied, epoch });
    this.#readCopy(other, '');
  }

  #readCopy({ replica, copy }: Progress, from: CopyCursor): void {
    this.#state.emit({ type: 'read-copy', replica, copy, from });
  }

  #send(to: ReplicaId, message: Message): void {
    this.#state.send(to, message, undefined);
  }

  #heard(from: ReplicaId): Progress | undefined {
    const other = this.#others.get(from);
    if (other !== undefined) other.suspected = false;
    return other;
  }

  get #inForce(): readonly ReplicaId[] {
    return this.#rules.inForce(this.#configuration.current, this.#configuration.pending);
  }

  #matchOf(replica: ReplicaId): number {
    return replica === this.#options.self ? this.#own.durableIndex : (this.#others.get(replica)?.match ?? 0);
  }

  #roundOf(replica: ReplicaId): number {
    return replica === this.#options.self ? this.#round : (this.#others.get(replica)?.round ?? 0);
  }

  /** Looks at everything that may have come to its end. */
  #advance(): void {
    const barrier = this.#barrier;
    if (barrier === undefined) return;
    const inForce = this.#inForce;
    const matchOf = (replica: ReplicaId) => this.#matchOf(replica);
    const committed = this.#rules.committed(inForce, matchOf);
    // What former primaries left is committed with the barrier, never before it.
    if (committed >= barrier) this.#state.commitUpTo(committed);
    if (!this.#serving && this.#rules.serves(inForce, matchOf, barrier)) {
      this.#serving = true;
      this.#state.emit({ type: 'serving', epoch: this.epoch, barrier });
    }
    this.#waiting.answerProposals();
    this.#waiting.answerReads((round) => this.#rules.confirmed(inForce, (replica) => this.#roundOf(replica), round));
    this.#changeConfiguration();
  }

  /** One change at a time: adds who has caught up, then removes who is silent, if enough are left. */
  #changeConfiguration(): void {
    const barrier = this.#barrier;
    if (barrier === undefined || this.#configuration.pending !== undefined) return;
    const { inSync } = this.#configuration.current;
    const { commit } = this.#state;
    for (const { replica, installed, suspected, match } of this.#others.values()) {
      if (inSync.includes(replica) || !installed || suspected) continue;
      if (this.#rules.joins(match, commit, barrier)) return this.#configuration.write([...inSync, replica]);
    }
    if (inSync.length <= this.#options.minInSync) return;
    const silent = inSync.find((replica) => this.#others.get(replica)?.suspected === true);
    if (silent !== undefined) this.#configuration.write(inSync.filter((replica) => replica !== silent));
  }
}
