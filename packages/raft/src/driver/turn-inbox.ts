/**
 * What the core is to hear of in the next turn. Whatever is added asks for that turn, except one event alone that changes nothing by
 * itself: that waits for the next, at the latest for the core's deadline.
 */

import type { RaftCore, RaftEvent, ServerId } from '../core/index.ts';
import type { StageClock } from './stages/stage-clock.ts';

export interface TurnInboxParts {
  readonly core: Pick<RaftCore, 'canWait'>;
  readonly stages: Pick<StageClock, 'proposed' | 'left'>;
  /** A turn is needed. */
  wake(): void;
}

export class TurnInbox {
  readonly #parts: TurnInboxParts;
  #events: RaftEvent[] = [];
  #proposals: Uint8Array[] = [];
  #unreachable: ServerId[] = [];
  /** Something that could wait has arrived since the last turn. */
  #waiting = false;

  constructor(parts: TurnInboxParts) {
    this.#parts = parts;
  }

  get hasWork(): boolean {
    return this.#events.length > 0 || this.#proposals.length > 0 || this.#unreachable.length > 0;
  }

  event(event: RaftEvent): void {
    this.#events.push(event);
    this.#parts.wake();
  }

  proposal(command: Uint8Array): void {
    this.#parts.stages.proposed();
    this.#proposals.push(command);
    this.#parts.wake();
  }

  /** The peer's process is gone. */
  unreachable(peer: ServerId): void {
    this.#unreachable.push(peer);
    this.#parts.wake();
  }

  eventThatMayWait(event: RaftEvent): void {
    this.#events.push(event);
    this.wakeUnlessCanWait(event);
  }

  /** One event alone may wait for the next turn; a second may be what makes the first count. */
  wakeUnlessCanWait(event: RaftEvent): void {
    if (!this.#waiting && this.#parts.core.canWait(event)) {
      this.#waiting = true;
      this.#parts.stages.left(event);
    } else this.#parts.wake();
  }

  beginTurn(): void {
    this.#waiting = false;
  }

  /** In the turn itself, behind what is there already. */
  add(event: RaftEvent): void {
    this.#events.push(event);
  }

  /** In the turn itself, before everything else. */
  addFirst(event: RaftEvent): void {
    this.#events.unshift(event);
  }

  /** All commands that were proposed become one event. */
  addProposals(): void {
    if (this.#proposals.length === 0) return;
    this.#events.push({ type: 'propose', commands: this.#proposals });
    this.#proposals = [];
  }

  addGone(): void {
    for (const peer of this.#unreachable.splice(0)) this.#events.push({ type: 'peer-refused', peer });
  }

  takeEvents(): readonly RaftEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Those that no turn has made an event. */
  takeProposals(): readonly Uint8Array[] {
    return this.#proposals.splice(0);
  }
}
