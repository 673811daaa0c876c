import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { CHECKERS } from '../../src/checkers/check.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { withWorkloads } from '../../src/scenario/draw/workloads.ts';
import { decodeScenario, encodeScenario } from '../../src/scenario/scenario-file.ts';
import { runScenario } from '../../src/targets/sim/run.ts';
import { checkersOf, demandsOf, USUAL_NAMES, WORKLOADS, workloadsOf } from '../../src/workloads/index.ts';

describe('the list of workloads', () => {
  it('has no two of one name', () => {
    expect(new Set(WORKLOADS.map(({ name }) => name)).size).toBe(WORKLOADS.length);
  });

  it('leaves no checker without something to judge', () => {
    expect(checkersOf([{ workloads: WORKLOADS.map(({ name }) => name) }])).toEqual(Object.keys(CHECKERS));
  });

  it('demands a lost update of the control where enough holders are paused for long, and of no other run', () => {
    const clients = [{ workloads: ['unfenced-control', 'fair-queue'] }];
    const queue = { order: { grantsWithWaiters: 10 }, waits: { served: 10 }, 'bounded-waiting': { behindOthers: 1 } };
    expect(demandsOf(clients, { longPausesOfHolders: 0 })).toEqual(queue);
    expect(demandsOf(clients, { longPausesOfHolders: 3 })).toEqual({ ...queue, unfenced: { lostUpdates: 1 } });
    expect(demandsOf([{}], { longPausesOfHolders: 9 })).toEqual({});
    const shared = [{ workloads: ['unfenced-read-write'] }];
    expect(demandsOf(shared, { longPausesOfHolders: 5 })).toEqual({});
    expect(demandsOf(shared, { longPausesOfHolders: 6 })).toEqual({ unfenced: { staleWrites: 1 } });
  });

  it('gives clients that name none what they always did', () => {
    expect(USUAL_NAMES).toEqual(['registers', 'critical-sections', 'bursts', 'steady-reads', 'bulk-writes']);
    expect(workloadsOf({}).map(({ name }) => name)).toEqual(USUAL_NAMES);
  });
});

describe('a client whose plan names a workload', () => {
  const drawn = drawScenario(6, { durationMs: 5_000 });
  const client = { name: 'c1', sessionTimeoutMs: 2_000, workers: 2, workloads: ['registers'] };
  const scenario = { ...drawn, clients: [client], faults: [] };

  it('does that alone, and is judged by its checkers', async () => {
    const { failure, history, verdicts } = await runScenario(scenario);
    expect(failure).toBeUndefined();
    const asked = new Set(history.flatMap((event) => (event.type === 'invoke' ? event.f : [])));
    expect([...asked].toSorted()).toEqual(['create', 'delete', 'read', 'set']);
    expect(verdicts.map(({ checker, valid }) => [checker, valid])).toEqual([
      ['completions', true],
      ['registers', true],
      ['liveness', true],
    ]);
  });

  it('is read from a file, which may name only what there is', () => {
    const saved = { scenario, failure: undefined, traceHash: '0' };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
    const other = { ...scenario, clients: [{ ...client, workloads: ['poker'] }] };
    const message = /"workloads" is "poker", and must be one of "registers", "critical-sections"/;
    expect(() => decodeScenario(encodeScenario({ ...saved, scenario: other }))).toThrow(message);
  });
});

describe('a workload with a stream of its own', () => {
  it('is given to the clients of some scenarios, and changes nothing else', () => {
    const all = [...workloadsOf({}), { name: 'poker', checks: [], oneIn: 3 }];
    let given = 0;
    for (let seed = 1; seed <= 40; seed += 1) {
      const drawn = drawScenario(seed);
      const clients = drawn.clients.map((client) => {
        const { workloads: _, ...usual } = client;
        return usual;
      });
      const scenario = { ...drawn, clients };
      const found = withWorkloads(scenario, (name) => new SimWorld({ seed }).random(name), all);
      if (found === scenario) continue;
      given += 1;
      const workloads = [...USUAL_NAMES, 'poker'];
      expect(found).toEqual({ ...scenario, clients: clients.map((each) => ({ ...each, workloads })) });
    }
    expect(given).toBeGreaterThan(5);
    expect(given).toBeLessThan(25);
  });
});
