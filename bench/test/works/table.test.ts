import { describe, expect, it } from 'vitest';

import { NODES_A_TRANSACTION } from '../../src/generator/closed-loop.ts';
import { LOAD_ROWS, WORKS, WORKS_ON_REQUEST } from '../../src/works/table.ts';

describe('the table of works', () => {
  it('names each row once, in a group that can be asked for', () => {
    expect(new Set(LOAD_ROWS.map(({ work }) => work)).size).toBe(LOAD_ROWS.length);
    for (const { group } of LOAD_ROWS) expect(WORKS).toContain(group);
    for (const work of WORKS_ON_REQUEST) expect(WORKS).toContain(work);
  });

  it('counts the operations of a transaction, and compares them with those of ZooKeeper alone', () => {
    const row = LOAD_ROWS.find(({ group }) => group === 'transactions');
    expect(row?.operationsEach).toBe(NODES_A_TRANSACTION);
    expect(row?.target).toEqual({ must: 1.5, goal: 3, peer: 'zookeeper' });
  });
});
