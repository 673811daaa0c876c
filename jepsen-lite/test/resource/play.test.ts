import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/resource/adapters/resource.ts';
import { playAll, type Trial } from '../../src/resource/play.ts';
import { renderTrial } from '../../src/resource/report.ts';
import { SITUATION_NAMES, type SituationName } from '../../src/resource/situations/situation.ts';
import { memoryCast } from './support/memory-cast.ts';
import { memoryResource, REFUSED, soon, TAKEN, write, writeIfCurrent, type Rule } from './support/memory-resource.ts';

const CORRECT: Rule = {
  install: (shared, token) => {
    if (token < shared.highest) return REFUSED;
    shared.highest = token;
    return TAKEN;
  },
  writeUnfenced: () => REFUSED,
};

type Write = NonNullable<Rule['write']>;

const lookThenWrite: Write = async (shared, value, token) => {
  if (token < shared.highest) return REFUSED;
  await soon();
  shared.highest = Math.max(shared.highest, token);
  return write(shared, value);
};

const keptByConnection: Write = (shared, value, token, own) => {
  if (token < own.highest) return REFUSED;
  own.highest = token;
  return write(shared, value);
};

const onlyHigher: Write = (shared, value, token) =>
  token === shared.highest ? REFUSED : writeIfCurrent(shared, value, token);

const silently: Write = (shared, value, token) => {
  writeIfCurrent(shared, value, token);
  return TAKEN;
};

async function play(rule: Rule, only?: readonly SituationName[]): Promise<Trial> {
  const cast = memoryCast(memoryResource(rule));
  return await playAll(cast, { seed: 1, rounds: 20, callTimeoutMs: 1_000, ...(only === undefined ? {} : { only }) });
}

function verdicts({ findings }: Trial): Record<string, string> {
  return Object.fromEntries(findings.map(({ name, verdict }) => [name, verdict]));
}

describe('a resource that compares and writes in one step', () => {
  it('is safe in every situation, each with something tried', async () => {
    const trial = await play(CORRECT);
    expect(trial.findings.flatMap(({ reasons, verdict }) => (verdict === 'safe' ? [] : reasons))).toEqual([]);
    expect(trial.verdict).toBe('safe');
    expect(Object.keys(verdicts(trial)).toSorted()).toEqual([...SITUATION_NAMES].toSorted());
    const tried = Object.fromEntries(trial.findings.map(({ name, old, newest }) => [name, [old, newest]] as const));
    for (const name of ['paused-holder', 'zombie', 'late-packet', 'before-first-write'] as const) {
      expect(tried[name]?.[0].tried, name).toBeGreaterThan(0);
      expect(tried[name]?.[0].refused, name).toBe(tried[name]?.[0].tried);
    }
    expect(tried['race']?.[0].tried).toBe(40);
    expect(tried['own-repeats']?.[1].taken).toBe(10);
    expect(renderTrial(trial)).toMatch(/^SAFE: /m);
  });

  it('is told that it takes old writes until the newer holder comes', async () => {
    const { findings } = await play({}, ['before-first-write']);
    expect(findings[0]).toMatchObject({ verdict: 'safe', old: { tried: 5, refused: 5 } });
    expect(findings[0]?.reasons).toEqual([expect.stringContaining('5 of 5 were taken')]);
  });

  it('is warned when it takes writes without a token, and stays safe for whoever has one', async () => {
    const trial = await play({ ...CORRECT, writeUnfenced: write }, ['no-token']);
    expect(trial.verdict).toBe('safe');
    expect(trial.findings[0]?.warnings).toContain('a write without a token got in');
    expect(renderTrial(trial)).toContain('WARNING: a write with the token "NaN" got in');
  });
});

describe('a resource that does not fence', () => {
  it('is caught in every situation in which an old holder writes', async () => {
    const trial = await play({ write });
    expect(trial.verdict).toBe('stale');
    const caught = Object.entries(verdicts(trial)).flatMap(([name, verdict]) => (verdict === 'stale' ? [name] : []));
    expect(caught.toSorted()).toEqual(['before-first-write', 'late-packet', 'paused-holder', 'race', 'zombie']);
  });

  it('has its story told in order, with tokens, and what is missing', async () => {
    const text = renderTrial(await play({ write }, ['paused-holder']));
    const story = [
      'A  is granted the lock with token 6',
      'A  is stopped',
      'B  is granted the lock with token 9',
      'B  writes',
    ];
    const places = [...story, 'A  wakes', 'with the old token 6: taken', 'C  reads'].map((part) => text.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((x, y) => x - y));
    expect(text).toContain('AND token <= $2');
  });
});

describe('a fence that is almost right', () => {
  const plain: Outcome = { type: 'unknown', message: 'connection lost' };
  const wrong: readonly (readonly [string, Rule, SituationName, 'stale' | 'unknown'])[] = [
    ['looks first and writes afterwards', { write: lookThenWrite }, 'race', 'stale'],
    ['is kept for each connection', { write: keptByConnection }, 'zombie', 'stale'],
    ['forgets tokens that were installed', { install: () => TAKEN }, 'before-first-write', 'stale'],
    ['takes a token only once', { write: onlyHigher }, 'own-repeats', 'unknown'],
    ['does not say that it refused', { write: silently }, 'paused-holder', 'unknown'],
    [
      'fails instead of refusing',
      { write: (shared, value, token) => (writeIfCurrent(shared, value, token) === TAKEN ? TAKEN : plain) },
      'zombie',
      'unknown',
    ],
    [
      'loses what it took',
      { read: ({ highest }) => (highest > 3 ? null : 'jepsen-1-first-A1') },
      'own-repeats',
      'unknown',
    ],
  ];

  it.each(wrong)('is caught when it %s', async (_, rule, name, verdict) => {
    const trial = await play(rule);
    expect(verdicts(trial)[name]).toBe(verdict);
    expect(trial.verdict).toBe(verdict);
  });

  it('is caught by the race alone when it looks first', async () => {
    const trial = await play({ write: lookThenWrite });
    expect(trial.findings.flatMap(({ name, verdict }) => (verdict === 'stale' ? [name] : []))).toEqual(['race']);
  });
});

describe('a resource that cannot be tried', () => {
  it('refuses the very first write', async () => {
    const trial = await play({ write: () => REFUSED });
    expect(trial).toMatchObject({ verdict: 'unknown', findings: [] });
    expect(trial.obstacle).toMatch(
      /the very first write was refused, with token 3: a newer holder was here; .*--servers/,
    );
  });

  it('is not shared between processes', async () => {
    const trial = await play({ read: () => null });
    expect(trial.obstacle).toMatch(/another then read nothing; a resource must be shared between processes/);
  });

  it('answers nothing', async () => {
    const trial = await play({ write: () => ({ type: 'unknown', message: 'no answer within 5 ms' }) });
    expect(trial.obstacle).toMatch(/neither taken nor refused: no answer within 5 ms/);
  });

  it('cannot be locked', async () => {
    const cast = memoryCast(memoryResource({}));
    const a: typeof cast.a = { ...cast.a, acquire: () => Promise.reject(new Error('no server answers')) };
    const trial = await playAll({ ...cast, a }, { seed: 1, rounds: 1, callTimeoutMs: 1_000 });
    expect(trial).toMatchObject({ verdict: 'unknown', obstacle: 'it could not begin: no server answers' });
  });

  it('is unknown when no situation fits', async () => {
    const trial = await play({}, ['no-token']);
    expect(trial.verdict).toBe('unknown');
    expect(trial.findings).toMatchObject([{ verdict: 'left out' }]);
  });
});
