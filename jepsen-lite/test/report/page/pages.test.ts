import { describe, expect, it } from 'vitest';

import { checkHistory } from '../../../src/checkers/check.ts';
import type { History } from '../../../src/history/history.ts';
import { indexPage, type IndexedRun } from '../../../src/report/page/index-page.ts';
import { runPage } from '../../../src/report/page/run-page.ts';
import { scriptOf } from '../../../src/report/page/script.ts';
import { outcomeOf, type ReportRun } from '../../../src/report/run.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { Story } from '../../support/story.ts';
import { brokenHistory } from '../support/broken-histories.ts';

const run = (history: History, more: Partial<ReportRun> = {}): ReportRun => ({
  title: 'a run',
  target: 'simulated',
  history,
  verdicts: checkHistory(history),
  ...more,
});

function quiet(): History {
  const story = new Story();
  story.release(story.acquire('a', 1));
  story.quiet();
  return story.history;
}

describe('the outcome of a run', () => {
  it('is the worst of what was found, and never better than unknown', () => {
    const verdict = (valid: boolean | 'unknown') => ({ checker: 'x', valid, broken: [], counts: {} });
    const outcome = (more: Partial<ReportRun>) => outcomeOf(run([], { verdicts: [verdict(true)], ...more }));
    expect(outcome({})).toBe(true);
    expect(outcome({ verdicts: [] })).toBe('unknown');
    expect(outcome({ verdicts: [verdict(true), verdict('unknown')] })).toBe('unknown');
    expect(outcome({ verdicts: [verdict('unknown')], valid: true })).toBe(true);
    expect(outcome({ verdicts: [verdict(false)], valid: true })).toBe(false);
    expect(outcome({ failure: { name: 'n', message: 'm' }, valid: true })).toBe(false);
  });
});

describe('the page of a run', () => {
  it('says in words what failed, step by step, and how to run it again', () => {
    const page = runPage(run(brokenHistory('exclusion'), { replay: 'jepsen replay "x".json' }), '');
    expect(page).toContain('<title>failed: a run</title>');
    expect(page.match(/class="step"/g)?.length).toBeGreaterThanOrEqual(3);
    expect(page).toContain('c1 asks its client whether it still holds a (token 11), and it does.');
    expect(page).toContain('jepsen replay &quot;x&quot;.json');
    expect(page).toContain('What failed');
  });

  it('shows the log around a finding, the order where it ended, and how long each fault left clients without service', () => {
    const log = [{ index: 50, term: 1, text: 'acquire lock=<a>' }];
    const outages = { kill: { count: 8, median: 120, p90: 1_340, max: 2_050 } };
    const page = runPage(run(brokenHistory('linearizable-locks'), { log, outages }), '');
    expect(page).toMatch(/<pre data-panel="order"[^>]*>lock a: one order explains 1 of 2 answers\./);
    expect(page).toMatch(/href="#evidence-\d"/);
    expect(page).toMatch(/<th scope="row">kill<\/th><td class="figure">120<\/td><td class="figure">1,340<\/td>/);
    const withLog = runPage(run(brokenHistory('exclusion'), { log }), '');
    expect(withLog).toMatch(/<pre data-panel="log"[^>]*>&gt; 50 {2}term 1 {2}acquire lock=&lt;a&gt;<\/pre>/);
    expect(withLog).not.toContain('data-panel="order"');
  });

  it('of a run that passed says what that rests on, and what was too little', () => {
    const page = runPage(run(quiet(), { valid: true }), '');
    expect(page).toContain('<title>passed: a run</title>');
    expect(page).toMatch(/\d+ of \d+ checkers found nothing wrong/);
    expect(page).not.toContain('What failed');
  });

  it('of one that failed, though nothing broke, says why', () => {
    const page = runPage(run(quiet(), { valid: false, idle: ['cut'] }), '');
    expect(page).toContain('<title>failed: a run</title>');
    expect(page).toContain('The run failed, though no promise was seen broken. Scheduled, and did nothing: cut.');
  });

  it('of one that was stopped shows the message in full', () => {
    const failure = { name: 'no-unexpected-error', message: 'Error: first line\n    at <anonymous>:3' };
    const page = runPage(run(quiet(), { failure, verdicts: [] }), '');
    expect(page).toContain('</span> Error: first line</h2>');
    expect(page).toContain('at &lt;anonymous&gt;:3');
    expect(page).toContain('before its history could be judged');
  });

  it('tells of faults that did nothing or were left out, and shows the scenario', () => {
    const more = {
      idle: ['clog'],
      leftOut: new Map([['cut', ['links']]]),
      struck: new Map([
        ['kill', 2],
        ['none', 0],
      ]),
    };
    const page = runPage(run(quiet(), { ...more, scenario: drawScenario(4) }), '');
    expect(page).toContain('did nothing: clog');
    expect(page).toContain('cut (links)');
    expect(page).toContain('kill <b>2</b>');
    expect(page).not.toContain('none <b>0</b>');
    expect(page).toContain('seed 4.');
  });

  it('of nothing is a page, too', () => {
    const page = runPage(run([], { verdicts: [] }), '');
    expect(page).toContain('Nothing was recorded.');
    expect(page).not.toContain('id="chart"');
  });

  it('lets nothing in a history become markup', () => {
    const story = new Story();
    const name = '</script><img src=x onerror=alert(1)>"\'\u202e';
    const ask = story.ask({ f: 'put', bucket: name, key: name, value: name, token: 5 }, name);
    ask.ok();
    story.ask({ f: 'fence', bucket: name, token: 9 }, name).ok();
    story.ask({ f: 'put', bucket: name, key: name, value: name, token: 5 }, name).ok();
    story.record({ type: 'fault', fault: name, phase: 'begin', hosts: name }, name);
    const page = runPage(run(story.history, { title: name, replay: name, target: name }), '');
    expect(page).not.toMatch(/<img|<\/script><|\u202e/);
    expect(page.match(/<\/script>/g)).toHaveLength(2);
  });
});

describe('the page over many runs', () => {
  const one = (
    workload: string,
    faults: string,
    valid: IndexedRun['valid'],
    more: Partial<IndexedRun> = {},
  ): IndexedRun => ({
    workload,
    faults,
    valid,
    href: `${workload}-${faults}.html`,
    title: `${workload} under ${faults}`,
    calls: 10,
    durationMs: 60_000,
    struck: 1,
    ...more,
  });

  it('has a cell for each workload and class of faults, with the worst of its runs and a link to it', () => {
    const runs = [
      one('mutex', 'none', true),
      one('mutex', 'pause', true),
      one('mutex', 'pause', false, { href: 'bad.html', message: 'two <holders>' }),
      one('queue', 'none', 'unknown'),
    ];
    const page = indexPage({ title: 'all', runs, notes: ['no root'] }, '');
    const cells = [...page.matchAll(/<td class="(mark \w+|none)"[^>]*>(?:<a href="([^"]*)")?/g)].slice(0, 4);
    expect(cells.map(([, name, href]) => [name, href])).toEqual([
      ['mark passed', 'mutex-none.html'],
      ['mark failed', 'bad.html'],
      ['mark unknown', 'queue-none.html'],
      ['none', undefined],
    ]);
    expect(page).toContain('<title>failed: all</title>');
    expect(page).toContain('×2');
    expect(page).toContain('two &lt;holders&gt;');
    expect(page).toContain('no root');
    expect(page.indexOf('bad.html', page.indexOf('<h2>Runs'))).toBeLessThan(
      page.indexOf('mutex-none.html', page.indexOf('<h2>Runs')),
    );
  });

  it('has passed only when every run has, and says so when there was none', () => {
    const titleOf = (...runs: IndexedRun[]) => /<title>(\w+)/.exec(indexPage({ title: 't', runs }, ''))?.[1];
    expect(titleOf(one('a', 'b', true))).toBe('passed');
    expect(titleOf(one('a', 'b', true), one('a', 'c', 'unknown'))).toBe('unknown');
    expect(titleOf()).toBe('unknown');
    expect(indexPage({ title: 't', runs: [] }, '')).toContain('No run has ended yet.');
  });
});

describe('the scripts of the pages', () => {
  it('are one text each, which imports nothing and ends no element', async () => {
    const scripts = await Promise.all([scriptOf('run'), scriptOf('index')]);
    for (const script of scripts) expect(script).not.toMatch(/^\s*import\b|<\/script|<!--|https?:/);
    expect(scripts[0]?.length).toBeGreaterThan(scripts[1]?.length ?? 0);
  });
});
