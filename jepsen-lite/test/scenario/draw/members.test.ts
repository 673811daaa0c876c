import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { withMembers } from '../../../src/scenario/draw/members.ts';
import { nemesisOf, type Fault } from '../../../src/nemeses/index.ts';
import { joiningIds, type Scenario } from '../../../src/scenario/scenario.ts';

const seeds = Array.from({ length: 300 }, (_, n) => n + 1);
const drawn = seeds.map((seed) => drawScenario(seed));
/** Transfers of leadership are drawn elsewhere. */
const changesMembers = ({ kind }: Fault): boolean =>
  kind !== 'transfer-leadership' && nemesisOf(kind)?.needs.includes('members') === true;
const changing = drawn.filter(({ faults }) => faults.some(changesMembers));
const stepsOf = ({ faults }: Scenario): readonly Fault[] => faults.filter(changesMembers);

describe('changes of the members that are drawn', () => {
  it('are in some scenarios, and leave the others as they are', () => {
    expect(changing.length).toBeGreaterThan(20);
    expect(changing.length).toBeLessThan(80);
    const plain = drawScenario(1);
    for (const seed of seeds) {
      const result = withMembers(plain, new SimWorld({ seed }).random('scenario of members'));
      if (result.members === undefined) expect(result).toBe(plain);
    }
  });

  it('are of every kind, and of several in a row', () => {
    const kinds = changing.flatMap((scenario) => stepsOf(scenario).map(({ kind }) => kind));
    expect(new Set(kinds)).toEqual(new Set(['add-member', 'promote-member', 'remove-member', 'lose-disk']));
    const steps = changing.flatMap(stepsOf);
    expect(steps.some((step) => step.kind === 'remove-member' && step.server === 'leader')).toBe(true);
    expect(steps.some((step) => step.kind === 'add-member' && step.observer)).toBe(true);
    expect(changing.some((scenario) => stepsOf(scenario).length >= 5)).toBe(true);
  });

  it('strike servers that join with faults, too', () => {
    const struck = changing.some((scenario) => {
      const names = joiningIds(scenario).map((id) => `s${id}`);
      return scenario.faults.some((fault) => names.some((name) => JSON.stringify(fault).includes(`"${name}"`)));
    });
    expect(struck).toBe(true);
  });

  it('cost no other server its log, and one its disk at most', () => {
    for (const scenario of changing) {
      expect(scenario.faults.map(({ kind }) => kind)).not.toContain('bit-flip');
      expect(stepsOf(scenario).filter(({ kind }) => kind === 'lose-disk').length).toBeLessThanOrEqual(1);
    }
  });
});
