import { describe, expect, it } from 'vitest';
import { checkLinearizable, DEFAULT_LIMITS } from '../../../src/checkers/linearizability/linearizable.ts';
import { MODELS, type ModelName } from '../../../src/models/index.ts';
import { longHistory } from '../../support/long-history.ts';
import { modelOf } from '../../support/random-operations.ts';

const CALLS = Number(process.env['HOLDFAST_HISTORY_CALLS'] ?? 5_000);
const NAMES = Object.keys(MODELS) as ModelName[];
/** The checker looks at its clock now and then. */
const SLACK_MS = 10_000;
/** What waits on a busy machine takes no processor time. */
const LIMIT_MS = 600_000;
/** Texts that are put and appended by 20 clients at once have too many orders between two gets. */
const HARD: readonly ModelName[] = ['kv'];
const HARD_CONFIGURATIONS = CALLS > 5_000 ? DEFAULT_LIMITS.configurations : 50_000;

describe.each(NAMES)('a long history of 20 clients, by the model %s,', (model) => {
  it.each([0, 0.01])(
    'is judged within a minute, or unknown by then (share of unknown outcome: %d)',
    (unknown) => {
      const callsOfObject = model === 'list-append' || model === 'kv' ? 1_000 : Number.POSITIVE_INFINITY;
      const operations = longHistory({ model, operations: CALLS, processes: 20, unknown, callsOfObject, seed: 1 });
      const isHard = HARD.includes(model);
      const limits = isHard ? { configurations: HARD_CONFIGURATIONS } : {};
      const begunAtMs = processorMs();
      const result = checkLinearizable(operations, modelOf(model), { limits, nowMs: processorMs });
      const ms = processorMs() - begunAtMs;
      if (CALLS > 5_000) {
        const figures = [
          result.type,
          `${result.open} open`,
          `${result.configurations} configurations`,
          `${(ms / 1_000).toFixed(1)} s`,
        ];
        process.stdout.write(`${model}, ${unknown}: ${figures.join(', ')}\n`);
      }
      expect(result.type).toMatch(isHard ? /^(valid|unknown)$/ : /^valid$/);
      expect(ms).toBeLessThan(DEFAULT_LIMITS.ms + SLACK_MS);
    },
    LIMIT_MS,
  );
});

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
