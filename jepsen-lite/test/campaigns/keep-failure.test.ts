import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { keepFailure } from '../../src/campaigns/keep-failure.ts';
import { reportOf } from '../../src/campaigns/seed-report.ts';
import { decodeHistory } from '../../src/history/json-lines.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { decodeScenario } from '../../src/scenario/scenario-file.ts';
import { runScenario } from '../../src/targets/sim/run.ts';

describe('a seed that failed', () => {
  const out = mkdtempSync(join(tmpdir(), 'holdfast-kept-'));
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  it('leaves its scenario, its history and a page, and says how to see it again', async () => {
    const drawn = drawScenario(5);
    const report = reportOf(await runScenario({ ...drawn, durationMs: 3_000 }));
    const failure = { name: 'two-leaders', message: 's1 and s2 lead term 4' };
    const scenario = { ...drawn, durationMs: 3_000 };
    const told = await keepFailure({ ...report, failure, scenario }, { shrinkTries: 0, out });
    const read = (name: string): string => readFileSync(join(out, name), 'utf8');
    expect(decodeScenario(read('seed-5.json'))).toMatchObject({ failure, scenario: { durationMs: 3_000 } });
    expect(decodeHistory(read('seed-5.history.jsonl')).length).toBeGreaterThan(50);
    expect(read('seed-5.html')).toContain('s1 and s2 lead term 4');
    expect(told).toContain(`jepsen replay ${join(out, 'seed-5.json')}\n  ${join(out, 'seed-5.html')}`);
  });

  it('leaves nothing where it passed', async () => {
    const report = reportOf(await runScenario({ ...drawScenario(5), durationMs: 1_000 }));
    expect(report.failure).toBeUndefined();
    expect(await keepFailure(report, { shrinkTries: 0, out: join(out, 'none') })).toBeUndefined();
  });
});
