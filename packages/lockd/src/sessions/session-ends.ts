/**
 * The leader removes what is left of sessions that are over and had more nodes than one entry removes: a slice at a time, the next when the
 * one before was applied, so that other entries go on in between. Which sessions these are is in the state, so that a new leader
 * goes on where the one before stopped.
 */

import { CommandType, encodeCommand } from '@holdfast/protocol';
import type { Entry, ReplicaStatus } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import { encodeEntry, type EntryHeader, type Output, type StateMachine } from '@holdfast/state';
import { END_RETRY_MS } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';

export interface SessionEndsDeps {
  readonly clock: Clock;
  readonly state: Pick<StateMachine, 'firstEnding'>;
  readonly propose: (entry: Uint8Array) => void;
}

export class SessionEnds implements ServerPart {
  readonly #deps: SessionEndsDeps;
  /** The term in which this server leads; 0 while it does not. */
  #term = 0;
  /** A slice is proposed and not applied. */
  #proposed = false;
  #retryTimer: Timer | undefined;

  constructor(deps: SessionEndsDeps) {
    this.#deps = deps;
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.stop();
    this.#term = term;
    this.#next();
  }

  reported(_entry: Entry, outputs: readonly Output[]): void {
    if (this.#term === 0) return;
    if (this.#proposed && outputs.some(({ type }) => type === 'endContinued')) this.#proposed = false;
    this.#next();
  }

  entryRefused(_entry: Uint8Array, { command }: EntryHeader): boolean {
    if (command !== CommandType.continueEnd) return false;
    if (this.#term === 0) return true;
    this.#proposed = false;
    this.#retryTimer ??= this.#deps.clock.setTimer(END_RETRY_MS, () => {
      this.#retryTimer = undefined;
      this.#next();
    });
    return true;
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#term = 0;
    this.#proposed = false;
    this.#retryTimer?.cancel();
    this.#retryTimer = undefined;
  }

  #next(): void {
    const { state, propose } = this.#deps;
    if (this.#term === 0 || this.#proposed || this.#retryTimer !== undefined) return;
    const session = state.firstEnding;
    if (session === 0) return;
    this.#proposed = true;
    const header = { command: CommandType.continueEnd, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
    propose(encodeEntry(header, encodeCommand({ type: 'continueEnd', session })));
  }
}
