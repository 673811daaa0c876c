import { describe, expect, it } from 'vitest';

import { largeTransactionRow, stallMs } from '../../../src/own/large-transactions/table.ts';

const ROUND = { round: 2, transactionMs: 210.25, worstCallMs: 48.5, quietWorstCallMs: 8.25, worstMs: 61, leaderMs: 70 };

describe('the table of large transactions', () => {
  it('tells how much longer a call took beside one', () => {
    expect(stallMs(ROUND)).toBe(40.25);
    expect(largeTransactionRow(ROUND)).toBe('| 2 | 210.3 | 48.5 | 8.3 | 40.3 | 61.0 | 70.0 |');
  });

  it('calls nothing a stall that takes as long without', () => {
    const slow = { ...ROUND, quietWorstCallMs: 60 };
    expect(stallMs(slow)).toBe(0);
    expect(largeTransactionRow(slow)).toBe('| 2 | 210.3 | 48.5 | 60.0 | 0.0 | 61.0 | 70.0 |');
  });
});
