/**
 * The leader ends the delays of locks: when a hold was lost that had asked for one, nobody is granted the lock until so much time has passed on
 * this leader's monotonic clock. A new leader cannot know how much of it has passed, and begins anew. It proposes the end as an entry that names
 * the delay by its index, and that has no effect where another hold was lost since.
 */

import { CommandType, decodeCommand, encodeCommand } from '@holdfast/protocol';
import type { ReplicaStatus } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import { encodeEntry, entryPayload, type EntryHeader, type PendingDelay, type StateMachine } from '@holdfast/state';
import { LOCK_DELAY_RETRY_MS, LOCK_DELAY_TICK_MS, MAX_LOCK_DELAYS_A_TICK } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import { TimerWheel } from '../nodes/timer-wheel.ts';

export interface LockDelaysDeps {
  readonly clock: Clock;
  readonly state: Pick<StateMachine, 'lockDelays'>;
  readonly propose: (entry: Uint8Array) => void;
}

type Delay = Pick<PendingDelay, 'lock' | 'index'>;

export class LockDelays implements ServerPart {
  readonly #deps: LockDelaysDeps;
  /** The term in which this server leads; 0 while it does not. */
  #term = 0;
  #office: Office | undefined;

  constructor(deps: LockDelaysDeps) {
    this.#deps = deps;
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.stop();
    this.#term = term;
    if (term !== 0) this.#office = new Office(this.#deps);
  }

  /** A lock is delayed, or for longer: in place of what was known of it. */
  begun(delay: PendingDelay): void {
    this.#office?.arm(delay);
  }

  ended(delay: Delay): void {
    this.#office?.ended(delay);
  }

  entryRefused(entry: Uint8Array, { command }: EntryHeader): boolean {
    if (command !== CommandType.endLockDelay) return false;
    const refused = decodeCommand('endLockDelay', entryPayload(entry));
    if (refused.type === 'endLockDelay') this.#office?.retry(refused);
    return true;
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#term = 0;
    this.#office?.end();
    this.#office = undefined;
  }
}

/** The delays that a leader is to end, from the begin of its office to its end. */
class Office {
  readonly #deps: LockDelaysDeps;
  /** Those that run, by lock. */
  readonly #wheel: TimerWheel<string>;
  /** By lock, also those whose end is proposed and not applied. */
  readonly #indexes = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(deps: LockDelaysDeps) {
    this.#deps = deps;
    this.#wheel = new TimerWheel(LOCK_DELAY_TICK_MS, deps.clock.monotonicMs());
    for (const delay of deps.state.lockDelays()) this.arm(delay);
  }

  end(): void {
    this.#timer?.cancel();
  }

  arm({ lock, index, delayMs }: PendingDelay): void {
    this.#indexes.set(lock, index);
    this.#runFor(lock, delayMs);
  }

  ended({ lock, index }: Delay): void {
    if (this.#indexes.get(lock) !== index) return;
    this.#indexes.delete(lock);
    this.#wheel.delete(lock);
  }

  /** The entry that was to end it is in no log. */
  retry({ lock, index }: Delay): void {
    if (this.#indexes.get(lock) === index) this.#runFor(lock, LOCK_DELAY_RETRY_MS);
  }

  #runFor(lock: string, delayMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#wheel.set(lock, nowMs + delayMs, nowMs);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#wheel.size === 0) return;
    this.#timer = this.#deps.clock.setTimer(LOCK_DELAY_TICK_MS, () => {
      this.#timer = undefined;
      this.#propose();
      this.#schedule();
    });
  }

  #propose(): void {
    const { clock, propose } = this.#deps;
    for (const lock of this.#wheel.take(clock.monotonicMs(), MAX_LOCK_DELAYS_A_TICK)) {
      const index = this.#indexes.get(lock);
      if (index === undefined) continue;
      const header = { command: CommandType.endLockDelay, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
      propose(encodeEntry(header, encodeCommand({ type: 'endLockDelay', lock, index })));
    }
  }
}
