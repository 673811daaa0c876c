import { describe, expect, it } from 'vitest';

import type { Hunt } from '../../src/mutants/hunt.ts';
import { renderReport, reportAsData } from '../../src/mutants/report.ts';
import type { MutantResult } from '../../src/mutants/run-mutants.ts';

const nothing: Hunt = {
  caught: undefined,
  attempts: 500,
  simulatedMs: 60_000,
  wallMs: 2_000,
  unexpected: [],
  broken: undefined,
};
const caught = { kind: 'promise', name: 'election-safety', message: 'two leaders', seed: 4 } as const;

function result(name: string, verdict: MutantResult['verdict'], ...hunts: Hunt[]): MutantResult {
  const mutant = { name, breaks: 'one vote a term', patches: [], caughtBy: ['churn'] } as const;
  return { mutant, verdict, findings: [{ detector: 'churn', hunts }] };
}

const control = { detector: 'churn', seeds: 2, passed: true, hunt: nothing } as const;

describe('the report', () => {
  it('has a line for each mutant: what it was caught as, after how many seeds of each range', () => {
    const found = result(
      'double-vote',
      'caught',
      { ...nothing, caught, attempts: 4 },
      { ...nothing, caught, attempts: 17 },
    );
    const text = renderReport({ results: [found], controls: [control], ok: true });
    expect(text).toMatch(/^double-vote +churn +election-safety +4, 17 seeds +60\.0, 60\.0 +2\.0, 2\.0$/m);
    expect(text).toContain('control: the product itself, churn, 2 seeds that caught mutants: nothing found');
    expect(text).toContain('mutants: 1 of 1 caught; passed');
  });

  it('says what a surviving mutant breaks, why one is broken, and what the control found', () => {
    const failed = { ...control, passed: false, hunt: { ...nothing, caught } };
    const results = [
      result('quiet', 'survived', nothing),
      result('nonsense', 'broken', { ...nothing, broken: 'never loaded: x.js' }),
    ];
    const text = renderReport({ results, controls: [failed], ok: false });
    expect(text).toContain('quiet SURVIVED churn, which should notice that it breaks "one vote a term"');
    expect(text).toContain('nonsense is BROKEN: never loaded: x.js');
    expect(text).toContain('FAILED: seed 4: election-safety: two leaders');
    expect(text).toContain('mutants: 0 of 2 caught; FAILED');
  });

  it('counts the runs of one attempt where it has several', () => {
    const found = result('quick', 'caught', { ...nothing, caught: { ...caught, run: 3 }, attempts: 1 });
    expect(renderReport({ results: [found], controls: [], ok: true })).toMatch(
      /^quick +churn +election-safety +3 runs/m,
    );
  });

  it('prints attempts that ended unexpectedly', () => {
    const accident = { kind: 'unexpected', name: 'TypeError', message: 'x', seed: 9 } as const;
    const text = renderReport({
      results: [result('rough', 'caught', { ...nothing, caught, unexpected: [accident] })],
      controls: [],
      ok: true,
    });
    expect(text).toContain('rough: 1 attempts ended unexpectedly, which counts for nothing (seed 9: TypeError: x)');
  });

  it('is data, too', () => {
    const data = reportAsData({ results: [result('quiet', 'survived', nothing)], controls: [control], ok: false });
    expect(data).toMatchObject({
      ok: false,
      mutants: [{ name: 'quiet', verdict: 'survived', findings: [{ detector: 'churn', hunts: [{ attempts: 500 }] }] }],
    });
    expect(JSON.parse(JSON.stringify(data))).toMatchObject({ controls: [{ detector: 'churn' }] });
  });
});
