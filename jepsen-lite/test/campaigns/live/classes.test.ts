import { describe, expect, it } from 'vitest';
import { pairings } from '../../../src/campaigns/live/classes.ts';
import { CHECKERS } from '../../../src/checkers/check.ts';
import { checkersOf, WORKLOADS } from '../../../src/workloads/index.ts';

describe('all runs', () => {
  const all = pairings(['processes', 'links', 'connections']);
  const under = (faults: string) => all.filter(({ name }) => name.endsWith(`-under-${faults}`));

  it('are every workload under every class of faults that this machine can inflict', () => {
    for (const faults of ['processes', 'links', 'connections', 'all-at-once']) {
      const names = under(faults).flatMap(({ workloads }) => workloads);
      expect(names.toSorted()).toEqual(WORKLOADS.map(({ name }) => name).toSorted());
    }
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  it('hold only kinds whose every need is met', () => {
    expect(all.find(({ name }) => name === 'nodes-under-processes')?.nemeses).not.toContain('crash');
    expect(pairings(['processes']).flatMap(({ nemeses }) => nemeses)).not.toContain('partition');
  });

  it('have strangers as a class of their own, with the kill that frees a port', () => {
    const withStrangers = pairings(['processes', 'strangers']).find(({ name }) => name === 'locks-under-strangers');
    expect(withStrangers?.nemeses).toEqual(['intruders', 'usurped-port', 'replayed-requests']);
  });

  it('end with all faults, several at once', () => {
    const every = all.find(({ name }) => name === 'nodes-under-all-at-once');
    expect(every?.nemeses).toEqual(expect.arrayContaining(['kill', 'partition', 'dials', 'majorities-ring']));
    expect(all.map(({ name, atOnce }) => atOnce > 1 === name.endsWith('-under-all-at-once'))).not.toContain(false);
  });

  it('change versions beside what befalls a leader, and leave all other runs to the present version', () => {
    const changing = pairings(['processes', 'links', 'members', 'versions']).filter(({ nemeses }) =>
      nemeses.includes('rolling-upgrade'),
    );
    const ofOneSet = ['rolling-upgrade', 'kill-leader', 'rolling-upgrade', 'pause-leader'];
    ofOneSet.push('rolling-upgrade', 'isolate-leader', 'rolling-upgrade', 'member-churn');
    expect(new Set(changing.map(({ name }) => name.slice(name.indexOf('-under-'))))).toEqual(
      new Set(['-under-versions']),
    );
    expect(changing.map(({ nemeses }) => nemeses)).toEqual(changing.map(() => ofOneSet));
    expect(pairings(['processes', 'versions']).find(({ name }) => name === 'nodes-under-versions')?.nemeses).toEqual(
      ofOneSet.slice(0, 4),
    );
  });

  it('have a judge for what every set of workloads is about, and together every judge', () => {
    const judges = all.map(({ workloads }) => checkersOf([{ workloads: [...workloads] }]));
    expect(judges.every((names) => names.length > 2)).toBe(true);
    expect(new Set(judges.flat())).toEqual(new Set(Object.keys(CHECKERS)));
  });

  it('strike replicas where there are some, and nowhere else', () => {
    const sets = (kind: string) => all.filter(({ nemeses }) => nemeses.includes(kind)).map(({ name }) => name);
    expect(sets('kill-primary')).toEqual(['replicated-kv-under-processes', 'replicated-kv-under-all-at-once']);
    expect(sets('isolate-both')).toEqual(['replicated-kv-under-links', 'replicated-kv-under-all-at-once']);
    expect(sets('isolate-leader')).toContain('replicated-kv-under-links');
  });

  it('leave what must be alone alone', () => {
    const controls = ['unfenced-control', 'unfenced-read-write', 'replicated-kv'];
    const sets = all.filter(({ workloads }) => controls.some((name) => workloads.includes(name)));
    expect(new Set(sets.flatMap(({ workloads }) => workloads))).toEqual(new Set(controls));
    expect(sets.every(({ workloads }) => workloads.length === 1)).toBe(true);
  });
});
