/**
 * The servers that may be dialled: those that the caller named and those that servers told of. Says which is next: the leader where
 * it is known and did not just fail, else round and round, beginning in random order.
 */

import type { Member } from '@holdfast/protocol';
import type { Address, Clock, Random } from '@holdfast/runtime';
import type { HoldfastError } from '../errors.ts';

/** For so long a server that failed is tried only after the others, and is no goal of a move. */
const FAILURE_MEMORY_MS = 2_000;

interface Failure {
  readonly atMs: number;
  readonly reason: string;
  readonly refusal: HoldfastError | undefined;
}

export class ServerList {
  readonly #clock: Clock;
  readonly #configured: ReadonlySet<Address>;
  #addresses: Address[];
  #next = 0;
  #leader = 0;
  #members: readonly Member[] = [];
  readonly #failures = new Map<Address, Failure>();

  constructor(addresses: readonly Address[], deps: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#configured = new Set(addresses);
    this.#addresses = shuffle([...this.#configured], deps.random);
  }

  /** 0 while unknown. */
  get leader(): number {
    return this.#leader;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  learn(leader: number, members: readonly Member[]): void {
    this.#leader = leader;
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
    const leader = this.#members.find((member) => member.server === this.#leader);
    if (leader === undefined || leader.clientAddress === '' || this.#failedLately(leader.clientAddress))
      return undefined;
    return leader.clientAddress;
  }

  next(): Address {
    const leader = this.leaderAddress();
    if (leader !== undefined) return leader;
    const start = this.#next;
    this.#next += 1;
    for (let offset = 0; offset < this.#addresses.length; offset += 1) {
      const address = this.#at(start + offset);
      if (this.#failedLately(address)) continue;
      this.#next = start + offset + 1;
      return address;
    }
    return this.#at(start);
  }

  /** `refusal`: what no retry changes. */
  failed(address: Address, reason: string, refusal?: HoldfastError): void {
    this.#failures.set(address, { atMs: this.#clock.monotonicMs(), reason, refusal });
  }

  answered(address: Address): void {
    this.#failures.delete(address);
  }

  /** The last failure of each server, for a message. */
  describeFailures(): string {
    return [...this.#failures].map(([address, failure]) => `${address} (${failure.reason})`).join(', ');
  }

  /** Set when the last that was heard of every configured server is a refusal. */
  get refusal(): HoldfastError | undefined {
    const refusals = [...this.#configured].map((address) => this.#failures.get(address)?.refusal);
    return refusals.includes(undefined) ? undefined : refusals[0];
  }

  #at(position: number): Address {
    const address = this.#addresses[position % this.#addresses.length];
    if (address === undefined) throw new RangeError('a server list is never empty');
    return address;
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
