import type { ReplicaState } from './replica-state.ts';
import type { Epoch } from './types.ts';

interface Proposal {
  readonly ticket: number;
  readonly index: number;
}

interface Read extends Proposal {
  readonly round: number;
}

/** What clients have asked of a primary, until it is answered or the epoch ends. */
export class Waiting {
  readonly #state: ReplicaState;
  readonly #epoch: Epoch;
  #proposals: Proposal[] = [];
  #reads: Read[] = [];

  constructor(state: ReplicaState, epoch: Epoch) {
    this.#state = state;
    this.#epoch = epoch;
  }

  get reading(): boolean {
    return this.#reads.length > 0;
  }

  proposed(proposal: Proposal): void {
    this.#proposals.push(proposal);
  }

  asked(read: Read): void {
    this.#reads.push(read);
  }

  /** Acknowledges what is committed. */
  answerProposals(): void {
    const { commit } = this.#state;
    for (const { ticket, index } of this.#proposals) {
      if (index <= commit) this.#state.emit({ type: 'acknowledged', ticket, index, epoch: this.#epoch });
    }
    this.#proposals = this.#proposals.filter(({ index }) => index > commit);
  }

  answerReads(isConfirmed: (round: number) => boolean): void {
    const ready = this.#reads.filter(({ round }) => isConfirmed(round));
    if (ready.length === 0) return;
    this.#reads = this.#reads.filter((read) => !ready.includes(read));
    for (const { ticket, index } of ready) {
      this.#state.emit({ type: 'read-ready', ticket, index, epoch: this.#epoch });
    }
  }

  /** The epoch ends: whether its writes happen, the next primary decides. */
  end(): void {
    const unknown = this.#proposals.map(({ ticket }) => ticket);
    const rejected = this.#reads.map(({ ticket }) => ticket);
    if (unknown.length > 0) this.#state.emit({ type: 'unknown', tickets: unknown });
    if (rejected.length > 0) this.#state.emit({ type: 'rejected', tickets: rejected });
  }
}
