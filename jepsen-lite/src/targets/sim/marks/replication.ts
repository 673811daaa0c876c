/**
 * Marks of replication: entries of earlier terms that a majority holds and that may not be committed yet (figure 8 of the paper),
 * windows that are full, and logs that lose their end after a restart.
 */

import type { DurableState, Effect, RaftEvent } from '@holdfast/raft';
import type { Hit, MarkView, Recogniser, Step } from './mark.ts';

type View = Pick<MarkView, 'maxInflightMessages' | 'votersOf' | 'committed'>;

interface Follower {
  match: number;
  /** It has answered an append since its connection: it is sent several at a time. */
  replicating: boolean;
  /** The last entries of the appends that it has not answered. */
  inFlight: number[];
}

interface Leadership {
  readonly term: number;
  readonly followers: Map<number, Follower>;
  /** A majority had entries of earlier terms alone. */
  held: boolean;
}

export class ReplicationMarks implements Recogniser {
  readonly #view: View;
  readonly #hit: Hit;
  readonly #leaderships = new Map<number, Leadership>();
  /** Up to where a server's log is what its last start found; of those that have started more than once. */
  readonly #found = new Map<number, number>();
  readonly #started = new Set<number>();

  constructor(view: View, hit: Hit) {
    this.#view = view;
    this.#hit = hit;
  }

  opened(id: number, { lastIndex }: DurableState): void {
    if (this.#started.has(id)) this.#found.set(id, lastIndex);
    this.#started.add(id);
  }

  down(id: number): void {
    this.#leaderships.delete(id);
    this.#found.delete(id);
  }

  stepped(step: Step): void {
    const { id, events, effects, after } = step;
    for (const effect of effects) if (effect.type === 'persist') this.#wrote(id, effect);
    if (after.role !== 'leader') {
      this.#leaderships.delete(id);
      return;
    }
    const leadership = this.#leadershipOf(step);
    for (const event of events) heard(leadership, event);
    if (after.commitIndex < after.noopIndex) this.#judgeCounting(step, leadership);
    else if (leadership.held) {
      leadership.held = false;
      this.#hit('figure-8-commit');
    }
    for (const effect of effects) this.#sent(leadership, effect, after.lastIndex);
  }

  #leadershipOf({ id, before, after }: Step): Leadership {
    const present = this.#leaderships.get(id);
    if (present?.term === after.term && before?.role === 'leader') return present;
    const leadership: Leadership = { term: after.term, followers: new Map(), held: false };
    this.#leaderships.set(id, leadership);
    return leadership;
  }

  /** The leader's own disk has all of the earlier terms: its vote for itself was written behind them. */
  #judgeCounting({ id, before, after: { commitIndex, noopIndex } }: Step, leadership: Leadership): void {
    if (before?.role !== 'leader' || leadership.held) return;
    const has = (voter: number): number => (voter === id ? noopIndex - 1 : followerOf(leadership, voter).match);
    const reached = Math.min(
      ...this.#view.votersOf(id).map((set) => {
        const matches = set.map(has).toSorted((a, b) => b - a);
        return matches[Math.floor(matches.length / 2)] ?? 0;
      }),
    );
    leadership.held = reached > Math.max(commitIndex, this.#view.committed()) && reached < noopIndex;
  }

  #sent({ followers }: Leadership, effect: Effect, lastIndex: number): void {
    if (effect.type === 'send-snapshot') probe(followerOf({ followers }, effect.peer));
    if (effect.type !== 'send' || effect.message.type !== 'append' || effect.message.entries.length === 0) return;
    const { prevIndex, entries } = effect.message;
    const last = prevIndex + entries.length;
    const { replicating, inFlight } = followerOf({ followers }, effect.to);
    if (!replicating) return;
    inFlight.push(last);
    if (inFlight.length === this.#view.maxInflightMessages && last < lastIndex) this.#hit('window-full');
  }

  #wrote(id: number, { snapshot, truncateFrom }: Extract<Effect, { type: 'persist' }>): void {
    const found = this.#found.get(id);
    if (found === undefined) return;
    if (snapshot !== undefined) this.#found.delete(id);
    if (truncateFrom === undefined || truncateFrom > found) return;
    this.#found.set(id, truncateFrom - 1);
    this.#hit('suffix-truncated-after-restart');
  }
}

function followerOf({ followers }: Pick<Leadership, 'followers'>, id: number): Follower {
  let follower = followers.get(id);
  if (follower === undefined) {
    follower = { match: 0, replicating: false, inFlight: [] };
    followers.set(id, follower);
  }
  return follower;
}

/** Nothing is under way to it, or all of it is in vain. */
function probe(follower: Follower): void {
  follower.replicating = false;
  follower.inFlight = [];
}

function heard(leadership: Leadership, event: RaftEvent): void {
  if (event.type === 'peer-connected' || event.type === 'peer-disconnected') {
    probe(followerOf(leadership, event.peer));
    return;
  }
  if (event.type !== 'message' || event.message.type !== 'append-response') return;
  const { term, accepted, index } = event.message;
  if (term !== leadership.term) return;
  const follower = followerOf(leadership, event.from);
  if (!accepted) {
    probe(follower);
    return;
  }
  follower.replicating = true;
  follower.match = Math.max(follower.match, index);
  while ((follower.inFlight[0] ?? Infinity) <= index) follower.inFlight.shift();
}
