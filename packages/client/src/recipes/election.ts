/**
 * One leader at a time among those who campaign. The leader holds the lock `election/NAME`, so that a grant is pushed to the next one and
 * its token fences the last; its value is an ephemeral node under `/recipes/elections/NAME`, named by the token. An election outlives its
 * client's session: it goes on in another one.
 */

import { MUTEX } from '@holdfast/protocol';
import { Backoff } from '../backoff.ts';
import { HoldfastError, LockLostError, SessionExpiredError } from '../errors.ts';
import type { Incarnation, Present } from '../incarnations/incarnation.ts';
import { Lock } from '../locks/lock.ts';
import { wantedOf } from '../locks/wanted.ts';
import { checkOptionNames } from '../option-names.ts';
import type { CallOptions } from '../session/call.ts';
import { dataOf, type NodeData } from '../tree/node-arguments.ts';
import { follow, type Read } from './follow.ts';
import { ifThere, recipePath } from './recipe-tree.ts';
import { Term } from './term.ts';
import { orUndone, pause } from './waiting.ts';
import { offAbort, onAbort } from '@holdfast/runtime';

export interface CampaignOptions {
  /** What those who observe the election are told while this one leads. @default '' */
  readonly value?: NodeData;
  /** Ends the campaign: the term is resigned, and the iterator throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ObserveOptions {
  /** The iterator throws its reason. */
  readonly signal?: AbortSignal;
}

export interface Leader {
  /** Of its term. */
  readonly token: number;
  readonly value: Uint8Array;
  readonly sessionId: number;
}

const CAMPAIGN_OPTIONS: Record<keyof CampaignOptions, true> = { value: true, signal: true };
const OBSERVE_OPTIONS: Record<keyof ObserveOptions, true> = { signal: true };
/** After what passes by itself, such as a disk that is almost full. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5_000;

export class Election {
  readonly name: string;
  readonly #present: Present;
  readonly #lock: Lock;
  readonly #directory: string;
  #term: Term | undefined;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#directory = recipePath('elections', name);
    this.#present = present;
    this.#lock = new Lock(wantedOf({ lock: `election/${name}`, asked: MUTEX }), present);
  }

  /**
   * Waits to lead, and gives each term to the loop. End the body when `term.signal` aborts: asking for the next term resigns the present one
   * and campaigns again, at the end of the queue, in a new session where the old one has expired. Leaving the loop resigns.
   *
   * @example
   * for await (const term of election.campaign({ value: 'host-1' })) await lead(term.token, term.signal);
   */
  campaign(options: CampaignOptions = {}): AsyncGenerator<Term, void, undefined> {
    checkOptionNames('campaign', options, CAMPAIGN_OPTIONS);
    const { value = '', signal } = options;
    dataOf(value);
    return this.#campaign(value, signal);
  }

  /** Who leads, at once and whenever that or the leader's value has changed; undefined while nobody does. */
  async *observe(options: ObserveOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    checkOptionNames('observe', options, OBSERVE_OPTIONS);
    let last: string | undefined;
    for await (const seen of follow(this.#present, this.#directory, this.#readLeader, options.signal)) {
      const key = seen === undefined ? 'nobody' : `${seen.leader.token} ${seen.version}`;
      if (key !== last) yield seen?.leader;
      last = key;
    }
  }

  /** Who leads now; undefined for nobody. */
  async leader(options: CallOptions = {}): Promise<Leader | undefined> {
    const incarnation = this.#present();
    const seen = await this.#readLeader(incarnation.nodes, { ...options, consistency: 'linearizable' }, incarnation);
    return seen?.leader;
  }

  /** Ends the present term, if there is one; its loop campaigns again, at the end of the queue. Never rejects. */
  async resign(): Promise<void> {
    await this.#term?.resign();
  }

  /** Tells those who observe another value. Rejects with the code NOT_HELD while this one does not lead. */
  async proclaim(value: NodeData, options: CallOptions = {}): Promise<void> {
    const term = this.#term;
    if (term === undefined || term.held.loss !== undefined) {
      const text = `this campaign does not lead election "${this.name}": proclaim within a term`;
      throw new HoldfastError(text, { code: 'NOT_HELD' });
    }
    await term.proclaim(value, options);
  }

  async *#campaign(value: NodeData, signal: AbortSignal | undefined): AsyncGenerator<Term, void, undefined> {
    const { random, session } = this.#present();
    const { clock } = session;
    const backoff = new Backoff(random, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    for (;;) {
      const asked = this.#present();
      let term: Term;
      try {
        term = await this.#win(value, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!this.#passes(error, asked)) throw error;
        await pause(clock, backoff.nextMs(), signal);
        continue;
      }
      backoff.reset();
      const stop = (): void => void term.resign();
      if (signal !== undefined) onAbort(signal, stop);
      this.#term = term;
      try {
        yield term;
      } finally {
        if (signal !== undefined) offAbort(signal, stop);
        if (this.#term === term) this.#term = undefined;
        await term.resign();
      }
      signal?.throwIfAborted();
    }
  }

  async #win(value: NodeData, signal: AbortSignal | undefined): Promise<Term> {
    const unlimited = { waitMs: Number.POSITIVE_INFINITY };
    const held = await this.#lock.acquire(signal === undefined ? unlimited : { ...unlimited, signal });
    // A session that has expired meanwhile has taken the hold with it.
    if (held.loss !== undefined) throw held.loss;
    const term = new Term(held, this.#present(), this.#directory);
    try {
      const begun = term.begin(value);
      await (signal === undefined ? begun : orUndone(signal, begun, () => term.resign()));
      return term;
    } catch (error) {
      void term.resign();
      throw error;
    }
  }

  /** The campaign goes on after it. */
  #passes(error: unknown, asked: Incarnation): boolean {
    if (error instanceof SessionExpiredError) return this.#present() !== asked;
    if (error instanceof LockLostError) return error.reason !== 'closed';
    return error instanceof HoldfastError && error.retryable;
  }

  readonly #readLeader: Read<{ readonly leader: Leader; readonly version: number } | undefined> = async (
    nodes,
    options,
  ) => {
    const listed = await ifThere(nodes.children(this.#directory, options));
    const name = listed?.names.at(-1);
    if (name === undefined) return undefined;
    const node = await ifThere(nodes.get(`${this.#directory}/${name}`, options));
    if (node === undefined) return undefined;
    const { data: value, stat } = node;
    return { leader: { token: Number(name), value, sessionId: stat.ephemeralOwner }, version: stat.version };
  };
}
