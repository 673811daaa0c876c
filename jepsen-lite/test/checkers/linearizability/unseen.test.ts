import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLinearizable } from '../../../src/checkers/linearizability/linearizable.ts';
import type { Step } from '../../../src/checkers/linearizability/step.ts';
import { seenOf } from '../../../src/checkers/linearizability/unseen.ts';
import type { Operation } from '../../../src/history/operations/operation.ts';
import { MODELS, type ModelName } from '../../../src/models/index.ts';
import { explained, modelOf, randomHistories } from '../../support/random-operations.ts';

const NAMES = Object.keys(MODELS) as ModelName[];
const RUNS = 3_000;
/** Fixed, since so many of each verdict are demanded. */
const SEED = 2;

const isOpen = ({ returnedAt }: Operation): boolean => returnedAt === Number.POSITIVE_INFINITY;

const base = { client: '1', key: undefined, output: null };
const write = (line: number, value: number): Operation => ({
  ...base,
  line,
  process: String(line),
  f: 'write',
  input: value,
  invokedAt: line,
  returnedAt: Number.POSITIVE_INFINITY,
});
const read = (line: number, value: number): Operation => ({
  ...base,
  line,
  process: 'reader',
  f: 'read',
  input: null,
  output: value,
  invokedAt: line * 2,
  returnedAt: line * 2 + 1,
});
/** The history without those of unknown outcome that nobody can have seen. */
function withoutUnseen(operations: readonly Operation[], name: ModelName): readonly Operation[] {
  const model = modelOf(name);
  const steps = operations.map((operation): Step<unknown> => ({ operation, action: model.actionOf(operation) }));
  const open = steps.filter(({ operation, action }) => isOpen(operation) && !action.observes);
  const returned = steps.filter(({ operation }) => !isOpen(operation));
  const seen = new Set(seenOf(open, returned).map(({ operation }) => operation));
  return operations.filter((operation) => !isOpen(operation) || seen.has(operation));
}

describe.each(NAMES)('what nobody can have seen, by the model %s,', (name) => {
  it('changes no verdict when it is left out', () => {
    const leftOut = { possible: 0, impossible: 0 };
    // More calls of unknown outcome than other histories have.
    fc.assert(
      fc.property(randomHistories(name, 8, 0.45), ({ operations }) => {
        const kept = withoutUnseen(operations, name);
        const isPossible = explained(operations, modelOf(name));
        expect(explained(kept, modelOf(name))).toBe(isPossible);
        const unanswered = operations.filter((operation) => modelOf(name).actionOf(operation).observes).filter(isOpen);
        if (kept.length + unanswered.length < operations.length) leftOut[isPossible ? 'possible' : 'impossible'] += 1;
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(Math.min(leftOut.possible, leftOut.impossible)).toBeGreaterThan(10);
  });
});

describe('an action that does not say what it sees', () => {
  it('may have seen everything', () => {
    const operation = { ...write(1, 7), returnedAt: Number.POSITIVE_INFINITY };
    const open = [{ operation, action: modelOf('register').actionOf(operation) }];
    const later = { ...read(2, 8) };
    const saying = modelOf('register').actionOf(later);
    const { sees: _sees, ...action } = saying;
    expect(seenOf(open, [{ operation: later, action: saying }])).toEqual([]);
    expect(seenOf(open, [{ operation: later, action }])).toEqual(open);
    // It ended before the write began.
    const earlier = { ...later, invokedAt: -1, returnedAt: 0 };
    expect(seenOf(open, [{ operation: earlier, action }])).toEqual([]);
  });
});

describe('a history with many writes of unknown outcome', () => {
  const writes = Array.from({ length: 1_000 }, (_, n) => write(n + 1, n));

  it('is judged although no set of them could be tried', () => {
    const seen = [read(1_001, 3), read(1_002, 5), read(1_003, 3)];
    const result = checkLinearizable([...writes, ...seen], modelOf('register'));
    // 3 was written once, and 5 after it.
    expect(result.type).toBe('invalid');
    expect(result.configurations).toBeLessThan(100);
  });

  it('is valid where each that was seen can have been written then', () => {
    const result = checkLinearizable([...writes, read(1_001, 3), read(1_002, 5), read(1_003, 5)], modelOf('register'));
    expect(result.type).toBe('valid');
    expect(result.configurations).toBeLessThan(100);
  });
});
