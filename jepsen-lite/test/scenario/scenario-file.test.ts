import { describe, expect, it } from 'vitest';
import { NEMESES } from '../../src/nemeses/index.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import type { Fault, FaultKind, MemberFault } from '../../src/nemeses/index.ts';
import { decodeScenario, encodeScenario } from '../../src/scenario/scenario-file.ts';
import { NOT_SIMULATED } from '../../src/targets/sim/sim-target.ts';
import { ScenarioFormatError } from '../../src/plan/fields.ts';

const failure = { name: 'one-owner', message: 'two of them' };
const traceHash = '0123456789abcdef';

describe('a scenario on disk', () => {
  it('comes back as it was, with every kind of fault', () => {
    const kinds = new Set<FaultKind>();
    for (let seed = 1; seed <= 400; seed += 1) {
      const saved = { scenario: drawScenario(seed), failure, traceHash };
      expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
      for (const fault of saved.scenario.faults) kinds.add(fault.kind);
    }
    const drawn = NEMESES.filter(({ needs }) => !NOT_SIMULATED.some((name) => needs.includes(name))).map(
      ({ kind }) => kind,
    );
    expect([...kinds].toSorted()).toEqual(drawn.toSorted());
  });

  it('comes back with what operators do about the members, too', () => {
    const members: readonly MemberFault[] = [
      { kind: 'add-member', atMs: 1, server: 4, observer: true, startAfterMs: 0 },
      { kind: 'promote-member', atMs: 2, server: 4 },
      { kind: 'remove-member', atMs: 3, server: 'leader' },
      { kind: 'remove-member', atMs: 4, server: 2 },
      { kind: 'lose-disk', atMs: 5, server: 3 },
    ];
    const saved = { scenario: { ...drawScenario(1), faults: members }, failure, traceHash };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
  });

  it('comes back with changes of version, and the release that is the older one', () => {
    const faults: readonly Fault[] = [{ kind: 'change-version', atMs: 1, host: 's1', version: 'newer' }];
    const saved = { scenario: { ...drawScenario(1), olderLockd: '/releases/1/main.js', faults }, failure, traceHash };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
    const wrong = encodeScenario(saved).replace('"newer"', '"newest"');
    expect(() => decodeScenario(wrong)).toThrow(/"version" is "newest", and must be one of "older", "newer"/);
  });

  it('may have no faults, and no failure', () => {
    const saved = { scenario: { ...drawScenario(1), faults: [] }, failure: undefined, traceHash };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
  });

  it('has one fault a line, so that a person can leave one out', () => {
    const faults: Fault[] = [
      { kind: 'pause', atMs: 1, forMs: 2, host: 'leader' },
      { kind: 'wall-jump', atMs: 1, host: 'c1', byMs: -5 },
    ];
    const text = encodeScenario({ scenario: { ...drawScenario(1), faults }, failure, traceHash });
    const without = text.split('\n').filter((line) => !line.includes('wall-jump'));
    const joined = without.join('\n').replace('"host":"leader"},', '"host":"leader"}');
    expect(decodeScenario(joined).scenario.faults).toEqual([faults[0]]);
  });

  it.each([
    ['no JSON', '{', /not JSON/],
    ['another file', '{"format":"holdfast-history"}', /"format" is not "holdfast-scenario"/],
    ['another version', '{"format":"holdfast-scenario","version":7}', /"version" is 7, not 1/],
    ['an unknown fault', broken({ faults: [{ kind: 'meteor', atMs: 1 }] }), /fault 1 is of the unknown kind "meteor"/],
    ['a fault without its time', broken({ faults: [{ kind: 'kill', hosts: ['s1'], forMs: 1 }] }), /"atMs" is missing/],
    [
      'a field too many',
      broken({ faults: [{ kind: 'pause', atMs: 1, forMs: 1, host: 's1', x: 1 }] }),
      /unknown field "x"/,
    ],
    ['four servers', broken({ scenario: { ...rest(), servers: 4 } }), /"servers" is 4, and must be one of 3, 5/],
    [
      'a change of the members apart from the faults',
      broken({ scenario: { ...rest(), members: [{ kind: 'remove-member', atMs: 1, server: 1 }] } }),
      /scenario has the unknown field "members"/,
    ],
    [
      'a change of the members without its server',
      broken({ faults: [{ kind: 'remove-member', atMs: 1, server: 'nobody' }] }),
      /fault 1 \(remove-member\): "server" is "nobody", not a whole number/,
    ],
    ['no clients', broken({ scenario: { ...rest(), clients: undefined } }), /"clients" is missing, not a list/],
  ])('is refused, and says why, when it is %s', (_what, text, message) => {
    expect(() => decodeScenario(text)).toThrow(ScenarioFormatError);
    expect(() => decodeScenario(text)).toThrow(message);
  });
});

function rest(): object {
  const { faults: _, ...others } = drawScenario(1);
  return others;
}

function broken(change: object): string {
  return JSON.stringify({
    format: 'holdfast-scenario',
    version: 1,
    traceHash,
    scenario: rest(),
    faults: [],
    ...change,
  });
}
