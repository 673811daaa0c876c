import { describe, expect, it } from 'vitest';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';

const client = { sessionTimeoutMs: 2_000, workers: 2, maxPauseMs: 300 };
const drawn = drawScenario(6, { durationMs: 8_000 });

describe('clients that use what the latest state version brings', () => {
  it.each([
    ['transactions', ['done', 'refused', 'audits', 'books', 'entries']],
    ['ttl-nodes', ['nodes', 'gone', 'goneInTime', 'seenUnused']],
    ['containers', ['containers', 'gone', 'seenEmpty', 'neverUsed']],
  ] as const)('do so soon after the beginning of a simulated run: %s', async (workload, counted) => {
    const clients = ['c1', 'c2'].map((name) => ({ ...client, name, workloads: [workload] }));
    const { failure, verdicts } = await runScenario({ ...drawn, clients, faults: [] });
    expect(failure).toBeUndefined();
    const verdict = verdicts.find(({ checker }) => checker === workload);
    expect(verdict?.valid).toBe(true);
    for (const count of counted) expect(verdict?.counts[count], count).toBeGreaterThan(0);
  });
});
