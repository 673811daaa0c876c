import { describe, expect, test } from 'vitest';
import { FairQueue } from '../../src/requests/fair-queue.ts';

/** Takes all that is left. */
function drain(queue: FairQueue<string, string>): string[] {
  const taken: string[] = [];
  for (let item = queue.next(); item !== undefined; item = queue.next()) taken.push(item);
  return taken;
}

function queueOf(...items: readonly string[]): FairQueue<string, string> {
  const queue = new FairQueue<string, string>();
  for (const item of items) queue.push(item.slice(0, 1), item);
  return queue;
}

describe('items of many owners', () => {
  test("come one of each owner before the next of any, each owner's in their order", () => {
    const queue = queueOf('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
    expect(queue.size).toBe(6);
    expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
    expect(queue.size).toBe(0);
    expect(queue.next()).toBeUndefined();
  });

  test('of one who comes meanwhile wait for one item of each other, and hold up nobody for two', () => {
    const queue = queueOf('a1', 'a2', 'b1', 'b2');
    expect(queue.next()).toBe('a1');
    queue.push('c', 'c1');
    queue.push('c', 'c2');
    expect(drain(queue)).toEqual(['b1', 'c1', 'a2', 'b2', 'c2']);
    queue.push('a', 'a3');
    expect(drain(queue)).toEqual(['a3']);
  });

  test("that are put back come first of their owner's, whose turn is the last then", () => {
    const queue = queueOf('a1', 'a2', 'b1', 'b2');
    const taken = queue.next() ?? '';
    queue.putBack('a', taken);
    expect(queue.size).toBe(4);
    expect(drain(queue)).toEqual(['b1', 'a1', 'b2', 'a2']);
  });

  test('of one who is suspended do not come until he is resumed, and are not counted', () => {
    const queue = queueOf('a1', 'a2', 'b1');
    queue.suspend('a', queue.next() ?? '');
    queue.push('a', 'a3');
    expect([...queue.suspended]).toEqual(['a']);
    expect(queue.size).toBe(1);
    expect(drain(queue)).toEqual(['b1']);
    queue.resume('a');
    expect([queue.size, queue.suspendedOwners]).toEqual([3, 0]);
    expect(drain(queue)).toEqual(['a1', 'a2', 'a3']);
  });
});
