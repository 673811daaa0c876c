/** Marks of leaders that leave, or try to: transfers that nobody takes up, and what waits when one steps down. */

import type { Hit, Recogniser, Step } from './mark.ts';

export class LeadershipMarks implements Recogniser {
  readonly #hit: Hit;

  constructor(hit: Hit) {
    this.#hit = hit;
  }

  stepped({ events, effects, before, after }: Step): void {
    for (const effect of effects) {
      if (effect.type === 'transfer-ended' && effect.outcome === 'timed-out') this.#hit('transfer-timed-out');
      if (effect.type !== 'read-rejected' || effect.reason !== 'not-leader') continue;
      if (before?.role !== 'leader' || (after.role === 'leader' && after.term === before.term)) continue;
      // What is asked in the very step is not dropped, but refused.
      const asked = new Set(events.map((event) => (event.type === 'read-index' ? event.ticket : undefined)));
      if (effect.tickets.some((ticket) => !asked.has(ticket))) this.#hit('read-dropped-at-step-down');
    }
  }
}
