/** What Raft promises, judged from outside after every step of any server. A broken promise is thrown. */

import { NO_SERVER, type Entry, type LogIndex, type ServerId, type Term } from '@holdfast/raft/core';

import type { BareServer } from './bare-server.ts';

export class BrokenLawError extends Error {
  readonly law: string;

  constructor(law: string, message: string) {
    super(message);
    this.name = 'BrokenLawError';
    this.law = law;
  }
}

interface Committed {
  readonly entry: Entry;
  /** The term of the server that applied it first: leaders of later terms must have it. */
  readonly knownIn: number;
}

export class Laws {
  readonly #leaders = new Map<number, ServerId>();
  readonly #committed: Committed[] = [];
  readonly #reads = new Map<number, number>();
  /** The log of each term's leader when it was elected. */
  readonly #elected = new Map<number, readonly Entry[]>();
  /** How far the log of a server had got when it led last. */
  readonly #led = new Map<ServerId, { readonly term: Term; readonly lastIndex: LogIndex }>();
  readsAnswered = 0;
  snapshotsInstalled = 0;
  /** Steps of servers that knew their successor to lead. */
  successors = 0;

  get committed(): number {
    return this.#committed.length;
  }

  get leaderships(): number {
    return this.#leaders.size;
  }

  stepped(server: BareServer): void {
    const { role, term, lastIndex } = server.status;
    if (role !== 'leader') {
      this.#checkSuccessor(server);
      return;
    }
    this.#led.set(server.id, { term, lastIndex });
    const known = this.#leaders.get(term);
    if (known === server.id) return;
    if (known !== undefined) {
      throw new BrokenLawError('election-safety', `servers ${known} and ${server.id} both lead in term ${term}`);
    }
    this.#leaders.set(term, server.id);
    this.#elected.set(term, server.log());
    this.#checkCompleteness(server);
  }

  applied(server: BareServer, entry: Entry): void {
    const known = this.#committed[entry.index - 1];
    if (known === undefined) {
      this.#committed.push({ entry, knownIn: server.status.term });
    } else if (!sameEntry(known.entry, entry)) {
      throw new BrokenLawError(
        'state-machine-safety',
        `server ${server.id} applied an entry of term ${entry.term} at ${entry.index}, where one of term ${known.entry.term} was applied`,
      );
    }
  }

  restored(server: BareServer, state: readonly Entry[]): void {
    this.snapshotsInstalled += 1;
    for (const entry of state) this.applied(server, entry);
  }

  readAsked(ticket: number): void {
    this.#reads.set(ticket, this.committed);
  }

  readReady(server: BareServer, ticket: number, index: LogIndex): void {
    const atLeast = this.#reads.get(ticket) ?? 0;
    this.readsAnswered += 1;
    if (index >= atLeast) return;
    throw new BrokenLawError(
      'linearizable-reads',
      `server ${server.id} let a read go on at ${index}, when ${atLeast} was committed before it was asked`,
    );
  }

  /** Whoever leads when a server knows its successor was elected with everything that the server proposed. */
  #checkSuccessor({ id, status }: BareServer): void {
    if (status.successor === NO_SERVER || status.leader === NO_SERVER) return;
    const led = this.#led.get(id);
    const elected = this.#elected.get(status.term);
    if (led === undefined || elected === undefined) return;
    if (elected[led.lastIndex - 1]?.term === led.term) {
      this.successors += 1;
      return;
    }
    throw new BrokenLawError(
      'a-successor-has-all-that-was-proposed',
      `server ${id}, which led term ${led.term}, takes the leader of term ${status.term} for its successor, which was elected without its entry ${led.lastIndex}`,
    );
  }

  #checkCompleteness(leader: BareServer): void {
    const log = leader.log();
    const { term } = leader.status;
    for (const { entry, knownIn } of this.#committed) {
      const own = log[entry.index - 1];
      if (knownIn >= term || (own !== undefined && sameEntry(own, entry))) continue;
      throw new BrokenLawError(
        'leader-completeness',
        `server ${leader.id} leads in term ${term} without the entry at ${entry.index}, which was committed in term ${knownIn}`,
      );
    }
  }
}

function sameEntry(left: Entry, right: Entry): boolean {
  return left.term === right.term && left.data.join() === right.data.join();
}
