/** Marks of changes of the members: a leader that is removed, and a learner that gets its vote while servers are apart. */

import { EntryType, decodeConfiguration, isJoint, type Configuration, type Entry } from '@holdfast/raft';
import type { Hit, MarkView, Recogniser, Step } from './mark.ts';

export class MembershipMarks implements Recogniser {
  readonly #view: Pick<MarkView, 'apart'>;
  readonly #hit: Hit;
  /** By leader: that it leaves, and where the configuration without it is. */
  readonly #leaving = new Map<number, { readonly term: number; readonly finalIndex: number | undefined }>();
  /** Leaders that promote a learner, while servers were apart. */
  readonly #promoting = new Set<number>();

  constructor(view: Pick<MarkView, 'apart'>, hit: Hit) {
    this.#view = view;
    this.#hit = hit;
  }

  stepped({ id, effects, before, after }: Step): void {
    const leaving = this.#leaving.get(id);
    if (leaving?.finalIndex !== undefined && after.term === leaving.term && after.commitIndex >= leaving.finalIndex) {
      this.#leaving.delete(id);
      if (before?.role === 'leader') this.#hit('leader-removed-in-joint');
    }
    if (after.role !== 'leader') {
      this.down(id);
      return;
    }
    for (const effect of effects) {
      if (effect.type !== 'persist') continue;
      for (const entry of effect.entries) {
        if (entry.type === EntryType.configuration && entry.term === after.term) this.#begun(id, entry);
      }
    }
  }

  down(id: number): void {
    this.#leaving.delete(id);
    this.#promoting.delete(id);
  }

  #begun(id: number, { index, term, data }: Entry): void {
    const configuration = decodeConfiguration(data);
    if (!isJoint(configuration)) {
      if (this.#leaving.has(id)) this.#leaving.set(id, { term, finalIndex: index });
      if (this.#promoting.delete(id)) this.#hit('promoted-under-partition');
      return;
    }
    if (isLeaving(configuration, id)) this.#leaving.set(id, { term, finalIndex: undefined });
    if (promotes(configuration) && this.#view.apart()) this.#promoting.add(id);
  }
}

function isLeaving({ members }: Configuration, id: number): boolean {
  return members.some((member) => member.id === id && member.role === 'leaving');
}

function promotes({ members }: Configuration): boolean {
  return members.some(({ role, outgoing }) => role === 'voter' && !outgoing);
}
