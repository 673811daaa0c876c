/**
 * Group commit for clients that wait for each answer. Those of one batch are answered together and come back one after another; if the
 * first of them began the next batch, the others would miss it, and there would be two groups that wait for each other's writes in turn.
 * So a leader lets proposals gather while those are expected whom it has just answered, and proposes them together when the last has
 * come. It waits for nobody but clients that came back at once the last times, not longer than one commit takes, and not at all where
 * that was in vain lately (docs/architecture.md, Gathering). Every proposal of this server goes this way, so their order stays.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import type { Entry } from '@holdfast/raft';
import type { SessionClient } from '../../port/session-client.ts';
import type { ServerCounters } from '../../counters.ts';
import { MAX_GATHERED_BYTES, MAX_GATHERED_ENTRIES } from '../../limits.ts';
import type { ServerPart } from '../../machine/server-part.ts';
import { CommitTime } from './commit-time.ts';
import type { ReturnHabit } from './return-habit.ts';
import { WaitingCredit } from './waiting-credit.ts';

export interface ProposalGateDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  propose(entry: Uint8Array): void;
}

export class ProposalGate implements ServerPart {
  readonly #deps: ProposalGateDeps;
  #leads = false;
  #commitTime = new CommitTime();
  #credit = new WaitingCredit();
  /** Counts the gatherings, so that what an earlier one expected is forgotten at once. */
  #gathering = 1;
  /** How many clients the present gathering waits for. */
  #expected = 0;
  #answeredAtMs = -Infinity;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #timer: Timer | undefined;

  constructor(deps: ProposalGateDeps) {
    this.#deps = deps;
  }

  /** This server leads from now on. */
  lead(): void {
    this.#leads = true;
    this.#commitTime = new CommitTime();
    this.#credit = new WaitingCredit();
  }

  /** Nobody is waited for any longer. Returns what was held, which is not proposed. */
  standDown(): readonly Uint8Array[] {
    this.#leads = false;
    return this.#endGathering();
  }

  /** What is held goes at once, and all that comes later. */
  stop(): void {
    for (const entry of this.standDown()) this.#deps.propose(entry);
  }

  propose(entry: Uint8Array): void {
    if (this.#expected > 0 && this.#waits()) this.#hold(entry);
    else this.#pass(entry);
  }

  /** The client of that habit was answered, and has nothing else to wait for. */
  answered(habit: ReturnHabit): void {
    if (!this.#leads) return;
    const now = this.#deps.clock.monotonicMs();
    this.#answeredAtMs = now;
    habit.answered(now);
    if (!habit.isPrompt || habit.expectedIn === this.#gathering || !this.#credit.allows(now)) return;
    habit.expectedIn = this.#gathering;
    this.#expected += 1;
  }

  /** The client of that habit has sent a request, which is about to be proposed. */
  returned(habit: ReturnHabit): void {
    if (!this.#leads) return;
    habit.returned(this.#deps.clock.monotonicMs(), this.#patienceMs);
    this.gone(habit);
  }

  /** Nobody needs to wait for the client of that habit. */
  gone(habit: ReturnHabit): void {
    if (habit.expectedIn !== this.#gathering) return;
    habit.expectedIn = 0;
    this.#expected -= 1;
    if (this.#expected > 0 || this.#held.length === 0) return;
    this.#deps.counters.gatheringsComplete += 1;
    this.#credit.gained();
    this.#release();
  }

  clientClosed({ habit }: Pick<SessionClient, 'habit'>): void {
    this.gone(habit);
  }

  applied({ data }: Pick<Entry, 'data'>): void {
    if (this.#commitTime.follows(data)) this.#commitTime.applied(this.#deps.clock.monotonicMs());
  }

  /** Until it is known how long a commit takes nobody is prompt. */
  get #patienceMs(): number {
    return this.#commitTime.averageMs ?? 0;
  }

  /** Whether those who are expected may still come in time. */
  #waits(): boolean {
    if (this.#held.length > 0) return true;
    if (this.#deps.clock.monotonicMs() - this.#answeredAtMs < this.#patienceMs) return true;
    this.#release();
    return false;
  }

  #hold(entry: Uint8Array): void {
    this.#held.push(entry);
    this.#heldBytes += entry.length;
    this.#deps.counters.proposalsGathered += 1;
    if (this.#held.length >= MAX_GATHERED_ENTRIES || this.#heldBytes >= MAX_GATHERED_BYTES) {
      // Enough to be worth a write of its own.
      this.#release();
    } else {
      this.#timer ??= this.#deps.clock.setTimer(this.#patienceMs, () => this.#late());
    }
  }

  #late(): void {
    this.#deps.counters.gatheringsLate += 1;
    this.#credit.lost(this.#deps.clock.monotonicMs());
    this.#release();
  }

  /** Nobody is waited for any longer, and what is held goes. */
  #release(): void {
    for (const entry of this.#endGathering()) this.#pass(entry);
  }

  #endGathering(): readonly Uint8Array[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#gathering += 1;
    this.#expected = 0;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #pass(entry: Uint8Array): void {
    if (this.#leads) {
      const now = this.#deps.clock.monotonicMs();
      if (this.#commitTime.wantsNext(now)) this.#commitTime.proposed(entry, now);
    }
    this.#deps.propose(entry);
  }
}
