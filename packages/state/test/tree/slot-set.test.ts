import { describe, expect, it } from 'vitest';

import type { NodeSlot } from '../../src/tree/node-slot.ts';
import { SlotSet } from '../../src/tree/slot-set.ts';

describe('a set of slots', () => {
  it('has what was added and nothing else, wherever that lies', () => {
    const slots = [0, 1, 31, 32, 1_023, 1_024, 5_000, 40_000, 2 ** 31, 2 ** 32 - 9_000] as NodeSlot[];
    const set = new SlotSet();
    for (const [added, slot] of slots.entries()) {
      expect(slots.filter((each) => set.has(each))).toEqual(slots.slice(0, added));
      set.add(slot);
      set.add(slot);
    }
    for (const slot of slots) {
      expect(set.has(slot)).toBe(true);
      for (const near of [slot + 2, slot + 64, slot + 1_026] as NodeSlot[])
        expect(set.has(near), `${near}`).toBe(slots.includes(near));
    }
  });
});
