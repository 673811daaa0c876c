import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { NO_SERVER, logIndex, serverId } from '../../src/core/index.ts';
import { PendingCalls } from '../../src/driver/pending-calls.ts';

const REMOVAL = { type: 'remove', id: serverId(3) } as const;

function scene() {
  const calls = new PendingCalls(silentLogger);
  const ends: unknown[] = [];
  const end = (result: unknown): void => void ends.push(result);
  return { calls, ends, end };
}

describe('a call of a replica that ends later', () => {
  it('has a ticket of its own among reads, transfers and changes', () => {
    const { calls, end } = scene();
    const tickets = [calls.addRead(end), calls.addTransfer(end), calls.addChange(REMOVAL, end), calls.addRead(end)];
    expect(new Set(tickets).size).toBe(4);
  });

  it('is called back once, whatever is said of its ticket afterwards', () => {
    const { calls, ends, end } = scene();
    const ticket = calls.addRead(end);
    calls.endReads([ticket], logIndex(7));
    calls.endReads([ticket], 'not-leader');
    calls.stop();
    expect(ends).toEqual([7]);
  });

  it('is called back with the others of its round', () => {
    const { calls, ends, end } = scene();
    const tickets = [calls.addRead(end), calls.addRead(end)];
    calls.endReads(tickets, 'not-leader');
    expect(ends).toEqual(['not-leader', 'not-leader']);
  });

  it('ends when the replica stops, at the latest', () => {
    const { calls, ends, end } = scene();
    calls.addRead(end);
    calls.addTransfer(end);
    calls.addChange(REMOVAL, end);
    calls.stop();
    calls.stop();
    expect(ends).toEqual(['stopped', { outcome: 'not-leader', target: NO_SERVER }, 'stopped']);
  });

  it('is counted by its outcome when it is a transfer, however many asked for that', () => {
    const { calls, ends, end } = scene();
    const tickets = [calls.addTransfer(end), calls.addTransfer(end)];
    calls.endTransfers({ type: 'transfer-ended', tickets, outcome: 'transferred', target: serverId(2) });
    expect(ends).toHaveLength(2);
    expect([...calls.transferCounts]).toEqual([['transferred', 1]]);
  });
});
