import { describe, expect, it } from 'vitest';
import { CrowdSpread } from '../../src/port/crowd-spread.ts';
import { MAX_SPREAD_MS, SPREAD_PER_SESSION_MS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

describe('the time over which clients should spread', () => {
  it('grows with the sessions of the ensemble, up to its bound', () => {
    let sessions = 0;
    const spread = new CrowdSpread(() => sessions);
    expect(spread.ms).toBe(0);
    sessions = 2_000;
    expect(spread.ms).toBe(2_000 * SPREAD_PER_SESSION_MS);
    sessions = 100_000_000;
    expect(spread.ms).toBe(MAX_SPREAD_MS);
  });

  it('is sent again when it has doubled or become a quarter, and not for a few sessions', () => {
    let sessions = 0;
    const spread = new CrowdSpread(() => sessions);
    const sent: number[] = [];
    const step = (next: number): void => {
      sessions = next;
      if (spread.outdated) sent.push(spread.announce());
    };
    for (let next = 0; next <= 2_000; next += 1) step(next);
    expect(sent).toEqual([100, 200, 400, 800]);
    for (let next = 2_000; next >= 0; next -= 1) step(next);
    expect(sent.slice(4)).toEqual([200, 50]);
    for (let next = 0; next <= 100; next += 1) step(next);
    expect(sent).toHaveLength(6);
  });

  it('reaches clients that were welcomed when there were few', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const early = ensemble.server(2).connect();
    for (let secret = 1; secret <= 250; secret += 1) ensemble.server(1).connect().attach(secret);
    const sent = early.take().filter((message) => message.type === 'leader');
    expect(sent.at(-1)).toMatchObject({ leader: 1, term: 1, spreadMs: 100 });
    const late = ensemble.server(2).dial();
    late.hello();
    expect(late.take()).toMatchObject([{ type: 'welcome', term: 1, spreadMs: 125 }]);
  });
});
