import { describe, expect, it } from 'vitest';

import type { Candidate } from '../../src/outages/candidates.ts';
import type { Strike } from '../../src/outages/outages.ts';
import { outageTables } from '../../src/outages/report.ts';

const candidate = (label: string): Candidate => ({
  label,
  system: { name: 'holdfast', version: '1', settings: '', start: () => Promise.reject(new Error('not started')) },
  route: 'client',
  sessionTimeoutMs: 10_000,
  patience: '1 s',
});

const strike = (over: Partial<Strike>): Strike => ({
  label: 'a',
  fault: 'kill -9 of the leader',
  round: 1,
  longestMs: [],
  sessionsLost: 0,
  otherCores: 0,
  disturbed: false,
  ...over,
});

const OF_ALL = { clients: 100, rounds: 2 };

describe('the table of outages', () => {
  it('is a distribution over the clients of all rounds', () => {
    const strikes = [
      strike({ longestMs: Array.from({ length: 100 }, (_, n) => n + 1), sessionsLost: 1 }),
      strike({ round: 2, longestMs: Array.from({ length: 100 }, (_, n) => n + 101), sessionsLost: 2 }),
      strike({ label: 'b', longestMs: [7] }),
    ];
    const text = outageTables([candidate('a'), candidate('b')], { strikes, withoutHosts: undefined }, OF_ALL);
    expect(text).toContain('| kill -9 of the leader | a | 100 | 180 | 198 | 200 | 3 |');
    expect(text).toContain('| kill -9 of the leader | b | 7 | 7 | 7 | 7 | 0 |');
    expect(text).not.toContain('6 % of a core');
  });

  it('says what could not be struck, and what others disturbed', () => {
    const results = { strikes: [strike({ longestMs: [1], disturbed: true })], withoutHosts: 'there is no nft' };
    const text = outageTables([candidate('a')], results, OF_ALL);
    expect(text).toContain('Nobody was cut off, since there is no nft.');
    expect(text).toContain('Beside 1 of 1 strikes other processes took more than 6 % of a core.');
    expect(text).not.toContain('| the leader cut off');
  });
});
