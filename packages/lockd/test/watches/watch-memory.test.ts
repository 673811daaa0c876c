/** What clients can make a server keep by watching is filled, and measured. */

import { bytesInUse } from '@holdfast/state/test/in-use';
import { describe, expect, it } from 'vitest';
import { MIN_HISTORY_CHUNK_BYTES } from '../../src/limits.ts';
import { scene } from './support/watching.ts';

const CLIENTS = 20;
const NODES = 1_000;
const WATCHES = CLIENTS * NODES;
const NOISE_BYTES = 1024 * 1024;

function growth(work: () => void): number {
  const before = bytesInUse();
  work();
  return bytesInUse() - before;
}

describe('what a server keeps for watches', { timeout: 60_000 }, () => {
  it.each([
    ['nodes that exist', 40, '/'],
    ['paths without a node', 400, '/none/'],
  ])('is a bounded number of bytes for each: %s', (_, bytesEach, parent) => {
    const { changing, watcher, server } = scene();
    for (let n = 0; n < NODES && parent === '/'; n += 1) changing.create(`/${n}`);
    const clients = Array.from({ length: CLIENTS }, () => watcher());
    const used = growth(() => {
      for (const [place, client] of clients.entries()) {
        // Those that exist are the same for all; of the others each is another.
        const first = parent === '/' ? 0 : place * NODES;
        const nodes = Array.from({ length: NODES }, (__, n) => ['persistent', `${parent}${first + n}`] as const);
        expect(client.watch(nodes)).toHaveLength(1);
      }
    });
    expect(used).toBeLessThan(WATCHES * bytesEach + NOISE_BYTES);
    expect(server.machine.watches.size).toBe(WATCHES);
    for (const client of clients) client.client.drop();
    expect(server.machine.watches.size).toBe(0);
  });

  it('is of the history no more than it may have, however much happens', () => {
    // Of the smallest chunks most would be kept free for the longest path.
    const historyBytes = 8 * 4 * MIN_HISTORY_CHUNK_BYTES;
    const { changing, watcher, server } = scene({ historyBytes });
    const path = `/${'x'.repeat(900)}`;
    changing.create(path);
    for (let n = 0; n < 2_000; n += 1) changing.create(`${path}/${n}`);
    const { history } = server.machine.watches;
    expect(history.bytes).toBeLessThanOrEqual(historyBytes);
    expect(history.begin).toBeGreaterThan(0);
    expect(watcher().watch([['recursive', path]], { from: history.begin }).length).toBeGreaterThan(50);
  });
});
