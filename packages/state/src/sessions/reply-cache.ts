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
  /**
   * The answer to request `evictedUpTo + 1 + i` is at `start + i`. Keeps its places when it empties: V8 would make it anew for the next.
   * One place from the begin on: an empty array gets seventeen with the first answer, of which most sessions need one.
   */
  #answers: (CachedReply | undefined)[] = [undefined];
  /** What each of them takes: to ask it again would fetch it from memory, long after its use. */
  #costs: number[] = [0];
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
    this.#costs = answers.map(answerCost);
    for (const cost of this.#costs) this.#count(cost);
  }

  /** The session is over, and its share free for others. */
  clear(): void {
    this.evictUpTo(this.#lastApplied);
  }

  /** The next request has been applied. */
  add(answer: CachedReply): void {
    invariant(!this.full, 'the reply cache of a session is bounded');
    const cost = answerCost(answer);
    const end = this.#end;
    this.#count(cost);
    this.#answers[end] = answer;
    this.#costs[end] = cost;
    this.#lastApplied += 1;
  }

  /** Forgets the answers up to request `number`. Going back, or beyond what was applied, changes nothing more. */
  evictUpTo(number: number): void {
    const upTo = Math.min(number, this.#lastApplied);
    while (this.#evictedUpTo < upTo) {
      const cost = this.#costs[this.#start];
      invariant(cost !== undefined, 'what is evicted was cached');
      this.#count(-cost);
      this.#answers[this.#start] = undefined;
      this.#start += 1;
      this.#evictedUpTo += 1;
    }
    if (this.#start === this.#end) {
      if (this.#answers.length > SLACK) {
        this.#answers = [undefined];
        this.#costs = [0];
      }
      this.#start = 0;
    } else if (this.#start >= SLACK && this.#start * 2 > this.#end) {
      this.#costs = this.#costs.slice(this.#start, this.#end);
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
