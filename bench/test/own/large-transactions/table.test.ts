import { describe, expect, it } from 'vitest';

import { largeTransactionRow, stallMs } from '../../../src/own/large-transactions/table.ts';

const ROUND = { round: 2, transactionMs: 210.25, worstMs: 48.5, quietWorstMs: 8.25, leaderMs: 70 };

describe('the table of large transactions', () => {
  it('tells how much longer an acquire took beside one', () => {
    expect(stallMs(ROUND)).toBe(40.25);
    expect(largeTransactionRow(ROUND)).toBe('| 2 | 210.3 | 48.5 | 8.3 | 40.3 | 70.0 |');
  });

  it('calls nothing a stall that takes as long without', () => {
    expect(stallMs({ ...ROUND, quietWorstMs: 60 })).toBe(0);
    expect(largeTransactionRow({ ...ROUND, quietWorstMs: 60 })).toBe('| 2 | 210.3 | 48.5 | 60.0 | 0.0 | 70.0 |');
  });
});
