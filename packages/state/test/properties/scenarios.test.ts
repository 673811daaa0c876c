import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { StateMachine, type Output } from '@holdfast/state';

import { Scenario, steps } from '../support/scenario.ts';
import type { Solo } from '../support/solo.ts';

const RUNS = 300;

describe('any run of sessions over locks and nodes', () => {
  it('has one holder a lock, serves in order, grants rising tokens, and answers retries as the model says', () => {
    fc.assert(
      fc.property(steps, (script) => {
        new Scenario().run(script);
      }),
      { numRuns: RUNS },
    );
  });

  it('leaves nothing of idle locks once all is released, and nothing of sessions once all have ended', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const scenario = new Scenario();
        scenario.run(script);
        scenario.releaseAll();
        scenario.endAll();
        scenario.checkEnded();
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('is the same on every machine: outputs at each index, fold, and what queries tell', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const scenario = new Scenario();
        scenario.run(script);
        const [first, second] = [replay(scenario.solo), replay(scenario.solo)];
        expect(first.outputs).toEqual(second.outputs);
        expect(first.machine.fold).toBe(second.machine.fold);
        expect(first.machine.fold).toBe(scenario.solo.machine.fold);
        expect(view(first.machine)).toEqual(view(scenario.solo.machine));
      }),
      { numRuns: RUNS / 3 },
    );
  });
});

function replay(solo: Solo): { machine: StateMachine; outputs: (readonly Output[])[] } {
  const machine = new StateMachine();
  const outputs = solo.entries.map((entry, position) => {
    if (entry !== undefined) return machine.apply(position + 1, entry);
    machine.applyNoop(position + 1);
    return [];
  });
  return { machine, outputs };
}

function view(machine: StateMachine): unknown[] {
  return [
    machine.counts,
    machine.sessions(),
    machine.query({ type: 'locks', prefix: '', after: '', limit: 1_000 }),
    machine.query({ type: 'sessions', after: 0, limit: 1_000 }),
    machine.query({ type: 'children', path: '/' }),
    machine.query({ type: 'children', path: '/locks' }),
  ];
}
