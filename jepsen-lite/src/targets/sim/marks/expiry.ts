/** The mark of a session's expiry that one leader proposed and another one decides, or loses while the session goes on. */

import { CommandType, decodeCommand } from '@holdfast/protocol';
import { EntryType, type Entry } from '@holdfast/raft';
import { entryCommand, entryPayload, type StateMachine } from '@holdfast/state';
import type { Hit, Recogniser, Step } from './mark.ts';

interface Expiry {
  readonly term: number;
  readonly index: number;
  readonly session: number;
  readonly generation: number;
}

export class ExpiryMarks implements Recogniser {
  readonly #hit: Hit;
  /** Proposed, and neither applied nor known to be lost. */
  readonly #proposed = new Map<string, Expiry>();
  #highestTerm = 0;
  #lastApplied = 0;

  constructor(hit: Hit) {
    this.#hit = hit;
  }

  stepped({ effects, after }: Step): void {
    if (after.role !== 'leader') return;
    this.#highestTerm = Math.max(this.#highestTerm, after.term);
    for (const effect of effects) {
      if (effect.type !== 'persist') continue;
      for (const entry of effect.entries) if (entry.term === after.term) this.#note(entry);
    }
  }

  /** Each entry is looked at once, by whichever server applies it first. */
  applied(entry: Entry, state: StateMachine): void {
    if (entry.index <= this.#lastApplied) return;
    this.#lastApplied = entry.index;
    if (this.#proposed.size === 0) return;
    for (const [place, { term, index, session, generation }] of this.#proposed) {
      if (index > entry.index) continue;
      if (index === entry.index && term === entry.term) {
        this.#proposed.delete(place);
        if (term < this.#highestTerm) this.#hit('expiry-across-a-change-of-leader');
      } else if (entry.term > term) {
        // Another entry was committed in its place.
        this.#proposed.delete(place);
        if (state.session(session)?.generation === generation) this.#hit('expiry-across-a-change-of-leader');
      }
    }
  }

  #note({ type, term, index, data }: Entry): void {
    if (type !== EntryType.command || entryCommand(data) !== CommandType.expireSession) return;
    const command = decodeCommand('expireSession', entryPayload(data));
    if (command.type !== 'expireSession') return;
    const { session, generation } = command;
    this.#proposed.set(`${index} of ${term}`, { term, index, session, generation });
  }
}
