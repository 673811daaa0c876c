import { invariant } from './invariant.ts';
import type { ReplicaState } from './replica-state.ts';
import type { Rules } from './rules.ts';
import type { Entry, MessageOf, ReplicaId } from './types.ts';

/** How a replica answers a primary. Answers leave when all that they tell is durable. */
export class Follower {
  readonly #state: ReplicaState;
  readonly #rules: Rules;

  constructor(state: ReplicaState, rules: Rules) {
    this.#state = state;
    this.#rules = rules;
  }

  /** The epoch is at least the installed one: a lower one has been refused. */
  install(from: ReplicaId, { epoch }: MessageOf<'install'>): void {
    const state = this.#state;
    if (epoch > state.installed) state.install(epoch);
    const { log, copy, cursor, pendingSeq } = state;
    state.send(from, { type: 'installed', epoch, lastIndex: log.lastIndex, copy, cursor }, pendingSeq);
  }

  append(from: ReplicaId, message: MessageOf<'append'>): void {
    const state = this.#state;
    const { log } = state;
    const { epoch, copy, prevIndex, prevEpoch, entries } = message;
    if (!this.#rules.accepts(state.installed, epoch)) return this.refuse(from, epoch);
    // These entries follow a log that a copy has dropped since, or is about to bring.
    if (copy !== state.copy || state.cursor !== undefined) return;
    // What is forgotten here is committed, so the primary has the same.
    if (prevIndex >= log.base.index && log.epochAt(prevIndex) !== prevEpoch) {
      const tryAfter = Math.min(log.lastIndex, prevIndex - 1);
      state.send(from, { type: 'mismatch', epoch, prevIndex, tryAfter }, undefined);
      return;
    }
    const first = entries.findIndex(({ index, epoch: its }) => index > log.base.index && log.epochAt(index) !== its);
    if (first !== -1) this.#take(entries.slice(first));
    // What lies behind these entries may be of a former primary: it is not known to be this one's.
    const index = Math.max(prevIndex + entries.length, log.base.index);
    state.send(from, { type: 'appended', epoch, copy, index }, state.pendingSeq);
    state.commitUpTo(Math.min(message.commit, index));
  }

  /** The primary has forgotten what this replica lacks. With the first part, all that it has goes: the group does not count on it. */
  copy(from: ReplicaId, { epoch, copy, base, part }: MessageOf<'copy'>): void {
    const state = this.#state;
    if (!this.#rules.accepts(state.installed, epoch)) return this.refuse(from, epoch);
    if (this.#rules.begins(copy, state.copy) && part.from === '') state.beginCopy(copy);
    // A part of an earlier copy, or of one that is complete, is late.
    if (copy !== state.copy || state.cursor === undefined) return;
    if (part.from === state.cursor) {
      if (part.last) state.endCopy(part, base);
      else state.takePart(part);
    }
    const { cursor, pendingSeq } = state;
    if (cursor === undefined) state.send(from, { type: 'appended', epoch, copy, index: base.index }, pendingSeq);
    else state.send(from, { type: 'copied', epoch, copy, cursor }, pendingSeq);
  }

  confirm(from: ReplicaId, { epoch, round }: MessageOf<'confirm'>): void {
    const state = this.#state;
    if (state.installed !== epoch) return this.refuse(from, epoch);
    state.send(from, { type: 'confirmed', epoch, round }, state.pendingSeq);
  }

  /** Tells what is installed, when that is durable. */
  refuse(to: ReplicaId, epoch: number): void {
    const state = this.#state;
    state.send(to, { type: 'refused', epoch, installed: state.installed }, state.pendingSeq);
  }

  /** `entries` begin where the log ends or has another entry. */
  #take(entries: readonly Entry[]): void {
    const start = entries[0]?.index;
    invariant(start !== undefined, 'taken-entries-are-some');
    this.#state.write(start <= this.#state.log.lastIndex ? start : undefined, entries);
  }
}
