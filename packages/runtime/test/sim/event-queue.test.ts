import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../src/sim/event-queue.ts';
import type { SimEvent } from '../../src/sim/event-queue.ts';
import { EventKinds } from '../../src/sim/trace.ts';

const kind = new EventKinds('test').of('event');

describe('the queue of events', () => {
  it('gives them out by time, then in the order in which they came, without the cancelled ones', () => {
    const plan = fc.array(fc.record({ timeTicks: fc.nat(20), cancel: fc.boolean() }), {
      maxLength: 3_000,
      size: 'max',
    });
    fc.assert(
      fc.property(plan, (entries) => {
        const queue = new EventQueue();
        const events: SimEvent[] = entries.map(({ timeTicks }, sequence) => {
          return { timeTicks, sequence, kind, work: { run() {} }, cancelled: false };
        });
        for (const event of events) queue.push(event);
        for (const [n, { cancel }] of entries.entries()) {
          const event = events[n];
          if (cancel && event !== undefined) queue.cancel(event);
        }
        const out: SimEvent[] = [];
        for (let event = queue.pop(); event !== undefined; event = queue.pop()) out.push(event);
        const expected = events.filter((_, n) => entries[n]?.cancel === false);
        expect(out).toEqual(expected.toSorted((a, b) => a.timeTicks - b.timeTicks || a.sequence - b.sequence));
      }),
      { numRuns: 30 },
    );
  });
});
