/**
 * The reply cache of a session, by which its requests are applied exactly once: their answers, from the first unacknowledged one to the last applied. Only what
 * clients acknowledge in applied entries is evicted, so every replica has the same, and counts the same for it.
 */

import { MAX_REMEMBERED_REPLIES } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import { answerCost, type CachedReply } from './answer-cost.ts';
import type { ReplyBudget } from './reply-budget.ts';

/** Forgotten places in front of the array before it is moved up, and of one that is kept when it is empty. */
const SLACK = 64;

export class ReplyCache {
  #lastApplied = 0;
  #evictedUpTo = 0;
  /** The answer to request `evictedUpTo + 1 + i` is at `start + i`. Keeps its places when it empties: V8 would make it anew for the next. */
  #answers: (CachedReply | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  readonly #budget: ReplyBudget;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  /** What the answers take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the last applied request; 0 for none. */
  get lastApplied(): number {
    return this.#lastApplied;
  }

  get full(): boolean {
    return this.#bytes >= this.#budget.share || this.#lastApplied - this.#evictedUpTo >= MAX_REMEMBERED_REPLIES;
  }

  /** What the next answer may take, if it is one of those that can be large. */
  get room(): number {
    return this.#budget.room(this.#bytes);
  }

  /** Undefined when it was acknowledged. */
  get(number: number): CachedReply | undefined {
    return number > this.#evictedUpTo ? this.#answers[this.#start + number - this.#evictedUpTo - 1] : undefined;
  }

  /** Those that it has, in the order of their requests. */
  answers(): readonly CachedReply[] {
    return this.#answers.slice(this.#start, this.#end) as readonly CachedReply[];
  }

  /** Makes a new cache that of a session whose last request was `lastApplied`, with the answers to the last ones. */
  restore(lastApplied: number, answers: readonly CachedReply[]): void {
    invariant(this.#lastApplied === 0, 'only a new reply cache is restored');
    this.#lastApplied = lastApplied;
    this.#evictedUpTo = lastApplied - answers.length;
    this.#answers = [...answers];
    for (const answer of answers) this.#count(answerCost(answer));
  }

  /** The session is over, and its share free for others. */
  clear(): void {
    this.evictUpTo(this.#lastApplied);
  }

  /** The next request has been applied. */
  add(answer: CachedReply): void {
    invariant(!this.full, 'the reply cache of a session is bounded');
    this.#count(answerCost(answer));
    this.#answers[this.#end] = answer;
    this.#lastApplied += 1;
  }

  /** Forgets the answers up to request `number`. Going back, or beyond what was applied, changes nothing more. */
  evictUpTo(number: number): void {
    const upTo = Math.min(number, this.#lastApplied);
    // Mostly all are acknowledged: to ask each what it counts for would fetch it from memory, long after its use.
    const all = upTo === this.#lastApplied;
    if (all) this.#count(-this.#bytes);
    while (this.#evictedUpTo < upTo) {
      const answer = this.#answers[this.#start];
      invariant(answer !== undefined, 'what is evicted was cached');
      if (!all) this.#count(-answerCost(answer));
      this.#answers[this.#start] = undefined;
      this.#start += 1;
      this.#evictedUpTo += 1;
    }
    if (this.#start === this.#end) {
      if (this.#answers.length > SLACK) this.#answers = [];
      this.#start = 0;
    } else if (this.#start >= SLACK && this.#start * 2 > this.#end) {
      this.#answers = this.#answers.slice(this.#start, this.#end);
      this.#start = 0;
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes);
  }

  /** Behind the last answer. */
  get #end(): number {
    return this.#start + this.#lastApplied - this.#evictedUpTo;
  }
}
