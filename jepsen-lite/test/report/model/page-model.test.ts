import { describe, expect, it } from 'vitest';

import { CHECKERS } from '../../../src/checkers/check.ts';
import type { History } from '../../../src/history/history.ts';
import { MAX_LANES, MAX_ROWS_OF_A_LANE } from '../../../src/report/limits.ts';
import { callModel } from '../../../src/report/model/calls.ts';
import { pageModel, type PageModel } from '../../../src/report/model/page-model.ts';
import { layOut, rowOf } from '../../../src/report/timeline/rows.ts';
import { Story } from '../../support/story.ts';
import { BROKEN_CHECKERS, brokenHistory } from '../support/broken-histories.ts';

const page = (history: History, more: object = {}): PageModel =>
  pageModel({ title: 't', target: 't', history, verdicts: [], ...more });

describe('holders', () => {
  it('are bands from the grant until it was taken away, beside what their client believed', () => {
    const story = new Story();
    story.record({ type: 'session', event: 'connected', session: 1 });
    story.pass(10);
    const held = story.acquire('a', 1);
    story.pass(30);
    story.remove(held, 'expired');
    story.pass(20);
    story.lose(held, 'expired');
    story.pass(5);
    story.acquire('a', 2);
    const [lock] = page(story.history).data.locks;
    expect(lock).toMatchObject({ name: 'a', rows: [{ length: 2 }] });
    expect(lock?.rows[0]?.[0]).toMatchObject({
      token: 11,
      client: 'c1',
      startMs: 10,
      endMs: 40,
      end: 'expired',
      told: { startMs: 10, endMs: 60 },
    });
    expect(lock?.rows[0]?.[1]).toMatchObject({ token: 13, end: 'open', endMs: 65 });
  });

  it('are what clients were told, where the servers told nothing', () => {
    const story = new Story();
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 5, hold: 5 });
    story.pass(10);
    story.ask({ f: 'release', lock: 'a', session: 1, token: 5, hold: 5 }).ok();
    expect(page(story.history).data.locks[0]?.rows[0]).toMatchObject([
      { token: 5, startMs: 0, endMs: 10, end: 'released' },
    ]);
  });

  it('end with their session, and stand on rows of their own where two have a lock', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    story.acquire('a', 2);
    story.pass(10);
    story.record({ type: 'session', event: 'expired', session: 1 });
    const [lock] = page(story.history).data.locks;
    expect(lock?.rows.map(([band]) => band?.token)).toEqual([first.token, 12]);
    expect(lock?.rows[0]?.[0]?.told?.endMs).toBe(10);
  });
});

describe('a client that was killed', () => {
  it('believes in nothing any more than what was heard of it last', () => {
    const story = new Story();
    story.record({ type: 'session', event: 'connected', session: 1 });
    const held = story.acquire('a', 1);
    story.pass(10);
    story.believe(held);
    story.pass(30);
    story.remove(held, 'expired');
    story.pass(20);
    story.record({ type: 'session', event: 'connected', session: 2 });
    story.pass(50);
    story.record({ type: 'session', event: 'closed', session: 2 });
    expect(page(story.history).data.locks[0]?.rows[0]?.[0]).toMatchObject({ endMs: 40, told: { endMs: 10 } });
  });
});

describe('the strips', () => {
  it('show who led which term, over the end of a run and one who began anew', () => {
    const story = new Story();
    const lead = (server: string, phase: 'begin' | 'end', term: number): void => {
      story.record({ type: 'leadership', phase, term }, server);
      story.pass(10);
    };
    lead('s1', 'begin', 1);
    lead('s2', 'begin', 2);
    lead('s1', 'end', 1);
    lead('s2', 'begin', 4);
    expect(page(story.history).data.leaders).toMatchObject([
      [
        { server: 's1', term: 1, startMs: 0, endMs: 20 },
        { server: 's2', term: 4, startMs: 30, endMs: 30 },
      ],
      [{ server: 's2', term: 2, startMs: 10, endMs: 30 }],
    ]);
  });

  it('show faults by kind, each with its own end, and those that overlap as one', () => {
    const story = new Story();
    const fault = (kind: string, phase: 'begin' | 'end', hosts?: string): void => {
      story.record({ type: 'fault', fault: kind, phase, ...(hosts !== undefined && { hosts }) }, 'harness');
      story.pass(10);
    };
    fault('pause', 'begin', 's1');
    fault('cut', 'begin', 's1, s2');
    fault('pause', 'end', 's1');
    fault('cut', 'begin', 's2, s1');
    fault('cut', 'end', 's2, s1');
    fault('cut', 'end', 's1, s2');
    fault('loss', 'begin');
    expect(page(story.history).data.faults).toEqual([
      { kind: 'pause', count: 1, bands: [{ startMs: 0, endMs: 20, label: 's1' }] },
      { kind: 'cut', count: 2, bands: [{ startMs: 10, endMs: 50, label: '×2' }] },
      { kind: 'loss', count: 1, bands: [{ startMs: 60, endMs: 60, label: '' }] },
    ]);
  });

  it('show when the phases of the run began', () => {
    const story = new Story();
    story.pass(5);
    story.quiet();
    expect(page(story.history).data.phases).toEqual([{ label: 'quiet', atMs: 5 }]);
  });
});

describe('what failed', () => {
  it.each(BROKEN_CHECKERS)('has a place on the timeline for each step of what "%s" found', (checker) => {
    const history = brokenHistory(checker);
    const { data, broken } = page(history, { verdicts: [CHECKERS[checker](history)] });
    const points = data.findings[0]?.points ?? [];
    expect(points).toHaveLength(broken[0]?.witness.sentences.length ?? -1);
    expect(points.length).toBeGreaterThan(1);
    const layout = layOut(data);
    for (const point of points) {
      const row = rowOf(layout, point);
      expect(row === undefined).toBe(point.track === 'run');
      if (point.call !== undefined) expect(data.calls.startMs[point.call]).toBe(point.atMs);
    }
  });

  it('brings its clients and locks to the top', () => {
    const story = new Story();
    for (let n = 1; n <= 8; n += 1) story.release(story.acquire(`l${n}`, n));
    const held = story.acquire('l7', 6);
    const late = story.ask({ f: 'acquire', lock: 'l7', session: 8 }).ok({ token: 90, hold: 90 });
    const believed = story.believe(held);
    const verdict = {
      checker: 'x',
      valid: false,
      counts: {},
      broken: [{ message: 'm', events: [held.ok.seq, late.seq, believed.seq] }],
    };
    const { data } = page(story.history, { verdicts: [verdict] });
    expect(data.lanes.map(({ name }) => name)).toEqual(['c6', 'c8', 'c1', 'c2', 'c3', 'c4', 'c5', 'c7']);
    expect(data.locks.map(({ name }) => name).slice(0, 2)).toEqual(['l7', 'l1']);
    expect(data.findings[0]?.points.map(({ place, number }) => [number, place])).toEqual([
      [1, 0],
      [2, 1],
      [3, 0],
    ]);
  });

  it('is the end of the run, where an invariant stopped it', () => {
    const story = new Story();
    story.acquire('a', 1);
    const { broken, data } = page(story.history, { failure: { name: 'log-matching', message: 'they differ' } });
    expect(broken).toMatchObject([{ by: 'log-matching', message: 'they differ' }]);
    expect(data.findings[0]?.points.length).toBeGreaterThan(0);
  });

  it('is told by the checker itself, where the failure only repeats it', () => {
    const history = brokenHistory('tokens');
    const verdict = CHECKERS.tokens(history);
    const failure = { name: 'history: tokens', message: 'all of it\n  {"seq":1}' };
    expect(page(history, { failure, verdicts: [verdict] }).broken.map(({ by }) => by)).toEqual(['tokens']);
  });
});

describe('a run that is too large for a page', () => {
  it('loses clients and calls beyond the bounds, which are counted', () => {
    const story = new Story();
    for (let n = 0; n < MAX_LANES + 3; n += 1) story.ask({ f: 'get', bucket: 'b', key: 'k' }, `c${n}`).info();
    for (let n = 0; n < MAX_ROWS_OF_A_LANE + 2; n += 1) story.ask({ f: 'get', bucket: 'b', key: 'k' }, 'c0');
    story.pass(1);
    story.quiet();
    const { data, leftOut } = page(story.history);
    expect(data.lanes).toHaveLength(MAX_LANES);
    expect(data.lanes[0]).toMatchObject({ name: 'c0', rows: MAX_ROWS_OF_A_LANE });
    expect(leftOut).toEqual(['5 calls', '3 clients']);
  });

  it('keeps the calls around what failed, or the first ones', () => {
    const story = new Story();
    for (let n = 0; n < 300; n += 1) {
      story.ask({ f: 'fence', bucket: 'b', token: 1 }).ok();
      story.pass(1);
    }
    const kept = (atMs: number | undefined): readonly (number | undefined)[] => {
      const { calls, leftOut } = callModel(story.history, { processes: [], atMs }, 100);
      expect(calls.startMs).toHaveLength(100);
      expect(leftOut.calls).toBe(200);
      return [calls.startMs[0], calls.startMs.at(-1)];
    };
    expect(kept(undefined)).toEqual([0, 99]);
    expect(kept(120)).toEqual([70, 169]);
    expect(kept(299)).toEqual([200, 299]);
  });
});
