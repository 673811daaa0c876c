/** Marks of elections: pre-votes that only stickiness refuses, and fail-overs that need not wait for a timeout. */

import type { Effect, Message } from '@holdfast/raft';
import type { Hit, MarkView, Recogniser, Step } from './mark.ts';

type PreVote = Extract<Message, { type: 'pre-vote' }>;

export class ElectionMarks implements Recogniser {
  readonly #view: Pick<MarkView, 'electionTimeoutMs' | 'termsOf'>;
  readonly #hit: Hit;
  /** When the address of a server's leader refused it, of those that have followed nobody since. */
  readonly #refusedAtMs = new Map<number, number>();

  constructor(view: Pick<MarkView, 'electionTimeoutMs' | 'termsOf'>, hit: Hit) {
    this.#view = view;
    this.#hit = hit;
  }

  stepped(step: Step): void {
    const { id, nowMs, events, before, after } = step;
    for (const event of events) {
      if (event.type === 'message' && event.message.type === 'pre-vote') {
        if (this.#isRefusedByStickiness(step, event.from, event.message)) this.#hit('pre-vote-refused-by-stickiness');
      } else if (event.type === 'peer-refused' && before?.role === 'follower' && before.leader === event.peer) {
        this.#refusedAtMs.set(id, nowMs);
      }
    }
    const refusedAtMs = this.#refusedAtMs.get(id);
    if (refusedAtMs === undefined || after.leader === 0) return;
    this.#refusedAtMs.delete(id);
    if (after.leader === id && nowMs - refusedAtMs < this.#view.electionTimeoutMs) {
      this.#hit('fail-over-by-refused-dial');
    }
  }

  down(id: number): void {
    this.#refusedAtMs.delete(id);
  }

  /** Nothing else speaks against it: not the term, not the log, and the server may vote. */
  #isRefusedByStickiness({ id, effects, before, after }: Step, from: number, asked: PreVote): boolean {
    if (before === undefined || asked.term <= after.term || before.term !== after.term) return false;
    if (!effects.some((effect) => refuses(effect, from, asked)) || effects.some(writesEntries)) return false;
    if ([before, after].some(({ voteBanned, diskStalls }) => voteBanned || diskStalls)) return false;
    const terms = this.#view.termsOf(id);
    const lastTerm = terms.at(-1) ?? 0;
    const lastIndex = terms.length - 1;
    if (asked.lastTerm < lastTerm || (asked.lastTerm === lastTerm && asked.lastIndex < lastIndex)) return false;
    return after.leader !== 0 && after.leader === before.leader && after.leader !== from;
  }
}

function refuses(effect: Effect, to: number, asked: PreVote): boolean {
  if (effect.type !== 'send' || effect.to !== to || effect.message.type !== 'pre-vote-response') return false;
  return !effect.message.granted && effect.message.askedTerm === asked.term;
}

function writesEntries(effect: Effect): boolean {
  return effect.type === 'persist' && effect.entries.length > 0;
}
