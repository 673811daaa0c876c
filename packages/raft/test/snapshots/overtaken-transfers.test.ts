import type { Clock, Logger } from '@holdfast/runtime';
import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { logIndex, serverId } from '../../src/core/index.ts';
import { OvertakenTransfers } from '../../src/snapshots/overtaken-transfers.ts';
import { DEFAULT_SNAPSHOT_OPTIONS, OVERTAKEN_WARNING_MS } from '../../src/snapshots/snapshot-options.ts';

describe('transfers that the log has overtaken', () => {
  it('are each counted once, and reported once a minute for each peer, with what helps', () => {
    let nowMs = 0;
    const reported: { readonly fields: object; readonly message: string }[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields, message) => void reported.push({ fields, message }) };
    const clock = { monotonicMs: () => nowMs } as Clock;
    const transfers = new OvertakenTransfers(DEFAULT_SNAPSHOT_OPTIONS, clock, logger);
    const [one, other] = [serverId(2), serverId(3)];
    expect(transfers.add(one, logIndex(10))).toBe(true);
    expect(transfers.add(one, logIndex(10))).toBe(false);
    nowMs = OVERTAKEN_WARNING_MS - 1;
    expect(transfers.add(one, logIndex(20))).toBe(true);
    expect(reported).toHaveLength(1);
    expect(transfers.add(other, logIndex(20))).toBe(true);
    nowMs += 1;
    expect(transfers.add(one, logIndex(30))).toBe(true);
    expect(reported.map(({ fields }) => fields)).toMatchObject([
      { peer: one, index: 10 },
      { peer: other, index: 20 },
      { peer: one, index: 30 },
    ]);
    for (const { message } of reported) {
      expect(message).toMatch(/cannot catch up.*raise --snapshot-bytes-per-second or --snapshot-log-bytes/);
    }
  });
});
