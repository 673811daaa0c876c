/**
 * The servers that may be dialled: those that the caller named and those that servers named. Says which is next: the leader where
 * it is known and did not just fail, else round and round, beginning in random order.
 */

import type { Member } from '@holdfast/protocol';
import type { Address, Clock, Random } from '@holdfast/runtime';
import type { HoldfastError } from '../errors.ts';

/** For so long a server that failed is tried only after the others, and is no goal of a move. */
const FAILURE_MEMORY_MS = 2_000;
/**
 * For so long a leader whose connection was lost is not taken for the leader. It is if it greets again or somebody leads in a newer term. The time is
 * longer than its followers take to notice its death, so that who names it after that has heard from it.
 */
const LOST_LEADER_MEMORY_MS = 5_000;

/** What `welcome` and `leader` report. */
export interface ServerAnnouncement {
  readonly leader: number;
  readonly term: number;
  readonly spreadMs: number;
  readonly members: readonly Member[];
}

interface Failure {
  readonly atMs: number;
  readonly reason: string;
  /** What the server answered; undefined when it did not. */
  readonly answer: HoldfastError | undefined;
}

export class ServerList {
  readonly #clock: Clock;
  readonly #configured: ReadonlySet<Address>;
  #addresses: Address[];
  #next = 0;
  #leader = 0;
  #term = 0;
  #spreadMs = 0;
  #members: readonly Member[] = [];
  #lostLeader: { readonly server: number; readonly term: number; readonly untilMs: number } | undefined;
  /** When servers take this client that have sent it away until then. */
  readonly #busyUntilMs = new Map<Address, number>();
  readonly #failures = new Map<Address, Failure>();

  constructor(addresses: readonly Address[], deps: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#configured = new Set(addresses);
    this.#addresses = shuffle([...this.#configured], deps.random);
  }

  /** 0 while unknown, and while it is one that was lost a moment ago. */
  get leader(): number {
    return this.leaderUncertainMs > 0 ? 0 : this.#leader;
  }

  /** For how much longer a leader that servers name is not believed, since its connection was lost. */
  get leaderUncertainMs(): number {
    const lost = this.#lostLeader;
    if (lost === undefined || lost.server !== this.#leader || this.#term > lost.term) return 0;
    return Math.max(0, lost.untilMs - this.#clock.monotonicMs());
  }

  /** Over what time clients should spread who lose a server all at once, as servers reported last. */
  get spreadMs(): number {
    return this.#spreadMs;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  learn({ leader, term, spreadMs, members }: ServerAnnouncement): void {
    // Who lags behind knows an earlier leader; a server of an earlier version names no term.
    if (term === 0 || term >= this.#term) {
      this.#leader = leader;
      this.#term = term;
    }
    this.#spreadMs = spreadMs;
    if (members.length === 0) return;
    this.#members = members;
    const known = new Set(this.#addresses);
    for (const { clientAddress } of members) {
      if (clientAddress !== '' && !known.has(clientAddress)) this.#addresses.push(clientAddress);
    }
    const present = new Set(members.map((member) => member.clientAddress));
    this.#addresses = this.#addresses.filter((address) => this.#configured.has(address) || present.has(address));
  }

  /** Undefined while the leader or its address is unknown, or when it failed a moment ago. */
  leaderAddress(): Address | undefined {
    const leader = this.#members.find((member) => member.server === this.leader);
    if (leader === undefined || leader.clientAddress === '' || !this.#isPromising(leader.clientAddress))
      return undefined;
    return leader.clientAddress;
  }

  /** For how long no server is worth a dial: all that did not just fail have sent this client away until then. */
  get busyMs(): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const address of this.#addresses) {
      if (this.#failedLately(address) || this.#isLost(address)) continue;
      leastMs = Math.min(leastMs, this.#busyMs(address));
    }
    return leastMs === Number.POSITIVE_INFINITY ? 0 : leastMs;
  }

  next(): Address {
    const leader = this.leaderAddress();
    if (leader !== undefined) return leader;
    const start = this.#next;
    this.#next += 1;
    for (let offset = 0; offset < this.#addresses.length; offset += 1) {
      const address = this.#at(start + offset);
      if (!this.#isPromising(address)) continue;
      this.#next = start + offset + 1;
      return address;
    }
    return this.#at(start);
  }

  /** `answer`: what the server refused this client with, if it did. */
  failed(address: Address, reason: string, answer?: HoldfastError): void {
    this.#failures.set(address, { atMs: this.#clock.monotonicMs(), reason, answer });
  }

  answered(address: Address, server: number): void {
    this.#failures.delete(address);
    this.#busyUntilMs.delete(address);
    if (this.#lostLeader?.server === server) this.#lostLeader = undefined;
  }

  /** The server serves, and takes this client in so long; that is no failure. */
  busy(address: Address, forMs: number): void {
    this.#busyUntilMs.set(address, this.#clock.monotonicMs() + forMs);
  }

  /** A connection to the server was lost, and nothing says that the server lives. */
  lost(server: number): void {
    if (server !== this.#leader) return;
    // Who waits for the others' sake before it dials must not have forgotten it by then.
    const untilMs = this.#clock.monotonicMs() + LOST_LEADER_MEMORY_MS + this.#spreadMs;
    this.#lostLeader = { server, term: this.#term, untilMs };
  }

  /** The last failure of each server, for a message. */
  describeFailures(): string {
    return [...this.#failures].map(([address, failure]) => `${address} (${failure.reason})`).join(', ');
  }

  /** Set when the last that was heard of every configured server is a refusal that no retry changes. */
  get refusal(): HoldfastError | undefined {
    const answers = [...this.#configured].map((address) => this.#failures.get(address)?.answer);
    return answers.every((answer) => answer?.retryable === false) ? answers[0] : undefined;
  }

  /** Every server was dialled since then, and none could be reached. */
  unreachableSince(sinceMs: number): boolean {
    return this.#addresses.every((address) => {
      const failure = this.#failures.get(address);
      return failure !== undefined && failure.atMs >= sinceMs && failure.answer === undefined;
    });
  }

  /** Every server has failed since then, and at least one said that it knows no leader. */
  leaderlessSince(sinceMs: number): boolean {
    const failures = this.#addresses.map((address) => this.#failures.get(address));
    return (
      failures.every((failure) => failure !== undefined && failure.atMs >= sinceMs) &&
      failures.some((failure) => failure?.answer?.code === 'NO_LEADER')
    );
  }

  #at(position: number): Address {
    const address = this.#addresses[position % this.#addresses.length];
    if (address === undefined) throw new RangeError('a server list is never empty');
    return address;
  }

  #isPromising(address: Address): boolean {
    return !this.#failedLately(address) && this.#busyMs(address) === 0 && !this.#isLost(address);
  }

  /** It was the leader when its connection was lost, and nobody has said since that it lives. */
  #isLost(address: Address): boolean {
    const lost = this.#lostLeader;
    if (lost === undefined || this.#clock.monotonicMs() >= lost.untilMs) return false;
    if (this.#leader === lost.server && this.#term > lost.term) return false;
    return this.#members.some((member) => member.server === lost.server && member.clientAddress === address);
  }

  #busyMs(address: Address): number {
    return Math.max(0, (this.#busyUntilMs.get(address) ?? 0) - this.#clock.monotonicMs());
  }

  #failedLately(address: Address): boolean {
    const failure = this.#failures.get(address);
    return failure !== undefined && this.#clock.monotonicMs() - failure.atMs < FAILURE_MEMORY_MS;
  }
}

function shuffle(addresses: Address[], random: Random): Address[] {
  const shuffled: Address[] = [];
  while (addresses.length > 0) shuffled.push(...addresses.splice(random.integer(addresses.length), 1));
  return shuffled;
}
