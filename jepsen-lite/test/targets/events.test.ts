import { describe, expect, it } from 'vitest';

import { checkHistory } from '../../src/checkers/check.ts';
import type { EventOf } from '../../src/history/calls.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { faultEvent, LeadershipRecord } from '../../src/targets/events.ts';
import { runScenario } from '../../src/targets/sim/run.ts';

describe('the record of who leads', () => {
  const seen = (drive: (record: LeadershipRecord) => void): string[] => {
    const events: string[] = [];
    drive(new LeadershipRecord((server, { phase, term }) => events.push(`${server} ${phase} ${term}`)));
    return events;
  };

  it('has one event a change, however often a server is asked', () => {
    const events = seen((record) => {
      record.saw('s1', undefined);
      record.saw('s1', 2);
      record.saw('s1', 2);
      record.saw('s2', 3);
      record.saw('s1', undefined);
      record.saw('s1', undefined);
    });
    expect(events).toEqual(['s1 begin 2', 's2 begin 3', 's1 end 2']);
  });

  it('distinguishes two terms of one server', () => {
    const events = seen((record) => {
      record.saw('s1', 2);
      record.saw('s1', 5);
    });
    expect(events).toEqual(['s1 begin 2', 's1 end 2', 's1 begin 5']);
  });
});

describe('a fault in a history', () => {
  it('names whom it strikes, if anybody', () => {
    expect(faultEvent('cut', 'begin', ['s1', 's2'])).toMatchObject({ fault: 'cut', phase: 'begin', hosts: 's1, s2' });
    expect(faultEvent('loss', 'end', [])).toEqual({ type: 'fault', fault: 'loss', phase: 'end' });
  });
});

describe('a simulated run', () => {
  it('records who leads each term, and every end of it before the next term of that server', async () => {
    const drawn = drawScenario(3);
    const { history, passed } = await runScenario({ ...drawn, durationMs: Math.min(drawn.durationMs, 12_000) });
    const leaders = history.filter((event): event is EventOf<'leadership'> => event.type === 'leadership');
    const leading = new Map<string, number>();
    const terms = new Map<number, string>();
    for (const { process, phase, term } of leaders) {
      if (phase === 'begin') {
        expect(leading.has(process)).toBe(false);
        expect(terms.get(term) ?? process).toBe(process);
        leading.set(process, term);
        terms.set(term, process);
      } else {
        expect(leading.get(process)).toBe(term);
        leading.delete(process);
      }
    }
    expect(passed).toBe(true);
    expect(terms.size).toBeGreaterThan(1);
    expect(checkHistory(history).some(({ valid }) => valid === false)).toBe(false);
  });
});
