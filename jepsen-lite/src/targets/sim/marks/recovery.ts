/** Marks of starts and of snapshots: what a start repairs, and logs that are replaced. Two of them are in the logs of servers alone. */

import type { WriteSeq } from '@holdfast/raft';
import type { Hit, MarkName, Recogniser, Step } from './mark.ts';

const MESSAGES: ReadonlyMap<string, MarkName> = new Map([
  ['cut a write that was never acknowledged off the end of the log', 'torn-tail-cut'],
  ['a snapshot that was being received is superseded', 'snapshot-superseded'],
]);

export class RecoveryMarks implements Recogniser {
  readonly #hit: Hit;
  /** Writes of entries that are under way, by server. */
  readonly #underWay = new Map<number, WriteSeq[]>();

  constructor(hit: Hit) {
    this.#hit = hit;
  }

  logged(message: string): void {
    const mark = MESSAGES.get(message);
    if (mark !== undefined) this.#hit(mark);
  }

  stepped({ id, effects }: Step): void {
    for (const effect of effects) {
      if (effect.type === 'lift-vote-ban') this.#hit('vote-ban-lifted');
      if (effect.type !== 'persist') continue;
      const underWay = this.#underWay.get(id);
      if (effect.snapshot !== undefined && underWay !== undefined && underWay.length > 0) {
        this.#hit('installed-over-writes');
      }
      if (effect.entries.length === 0) continue;
      if (underWay === undefined) this.#underWay.set(id, [effect.seq]);
      else underWay.push(effect.seq);
    }
  }

  persisted(id: number, seq: WriteSeq): void {
    const underWay = this.#underWay.get(id);
    while (underWay !== undefined && (underWay[0] ?? Infinity) <= seq) underWay.shift();
  }

  down(id: number): void {
    this.#underWay.delete(id);
  }
}
