import { describe, expect, it } from 'vitest';
import {
  conformanceCases,
  describeConformance,
  runConformance,
  type FencedResource,
  type TestRunner,
} from '../src/index.ts';
import { after, afterAll, EMPTY, type Step } from '../src/model.ts';
import { memoryResource } from './support/memory-resource.ts';

/** Only what every resource has. */
function plain(open: () => Promise<FencedResource>): () => Promise<FencedResource> {
  return async () => {
    const { scope, write, read, install } = bound(await open());
    return { scope, write, read, install, floors: false };
  };
}

function bound(resource: FencedResource): Pick<FencedResource, 'scope' | 'write' | 'read' | 'install'> {
  return {
    scope: () => resource.scope(),
    write: (scope, holder, value) => resource.write(scope, holder, value),
    read: (scope, holder) => resource.read(scope, holder),
    install: (scope, holder) => resource.install(scope, holder),
  };
}

interface Ran {
  readonly name: string;
  readonly length: number;
  readonly run: (context: unknown, ...args: readonly unknown[]) => Promise<void>;
}

function recorder(): { readonly tests: Ran[]; readonly names: string[]; readonly runner: TestRunner } {
  const tests: Ran[] = [];
  const names: string[] = [];
  const runner: TestRunner = {
    describe: (name, body) => {
      names.push(name);
      body();
    },
    it: (name, body) => {
      const call = body as unknown as (this: unknown, ...args: readonly unknown[]) => Promise<void>;
      tests.push({ name, length: body.length, run: (context, ...args) => call.apply(context, [...args]) });
    },
  };
  return { tests, names, runner };
}

describe('the registration of the suite', () => {
  it('has every case by its name, none of which looks as if it took a callback', () => {
    const { tests, names, runner } = recorder();
    describeConformance('accounts', memoryResource(), runner);
    expect(names).toEqual(['accounts as a fenced resource']);
    expect(tests.map(({ name }) => name)).toEqual(conformanceCases.map(({ name }) => name));
    expect(tests.map(({ length }) => length)).toEqual(tests.map(() => 0));
  });

  it('skips what the resource lacks, by the means of each runner', async () => {
    const { tests, runner } = recorder();
    describeConformance('accounts', plain(memoryResource()), runner);
    const crash = tests.find(({ name }) => name === 'a crash keeps values and tokens');
    const reasons: unknown[] = [];
    const context = { skip: (reason: unknown) => void reasons.push(reason) };
    await crash?.run(undefined, context);
    await crash?.run(context);
    expect(reasons).toEqual(['the resource lacks crash', 'the resource lacks crash']);
    await expect(crash?.run(undefined)).rejects.toThrow('the resource lacks crash, and this test runner cannot skip');
  });

  it('opens no more than it needs, and closes all of it', async () => {
    const open = memoryResource();
    let [opened, closed] = [0, 0];
    const { tests, runner } = recorder();
    const counted = async (): Promise<FencedResource> => {
      opened += 1;
      return { ...bound(await open()), close: async () => void (closed += 1) };
    };
    describeConformance('accounts', counted, runner);
    for (const { run } of tests) await run(undefined, { skip: () => undefined });
    expect(closed).toBe(opened);
    expect(opened).toBeLessThan(tests.length * 4);
  });
});

describe('the suite without a runner', () => {
  it('says which cases were skipped, and for want of what', async () => {
    const results = await runConformance(plain(memoryResource()));
    expect(results.map(({ name }) => name)).toEqual(conformanceCases.map(({ name }) => name));
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    const skipped = results.filter(({ outcome }) => outcome === 'skipped');
    expect(skipped).toHaveLength(conformanceCases.filter(({ needs }) => needs.length > 0).length);
    expect(skipped).toContainEqual({
      name: 'a write under way in a crash is written or not, and leaves no lock',
      outcome: 'skipped',
      lacks: ['crash', 'slowWrite'],
    });
  });

  it('takes no error but a refusal for a refusal', async () => {
    const open = memoryResource();
    const failing = async (): Promise<FencedResource> => ({
      ...bound(await open()),
      write: () => Promise.reject(new Error('connection reset')),
    });
    const [result] = await runConformance(
      failing,
      conformanceCases.filter(({ name }) => name === 'a stale write is refused and changes nothing'),
    );
    expect(result?.outcome).toBe('failed');
    expect(String(result?.error)).toBe('ConformanceError: the first write failed: Error: connection reset');
  });

  it('fails a case that is run on a resource without what it needs', async () => {
    const [crash] = conformanceCases.filter(({ needs }) => needs.includes('crash'));
    await expect(crash?.run(plain(memoryResource()))).rejects.toThrow('the resource lacks crash: skip this case');
  });
});

describe('the model', () => {
  const write = (token: number, accepted: boolean, value = `by ${token}`): Step => ({
    kind: 'write',
    token,
    floor: token,
    value,
    accepted,
  });

  it('follows the rule', () => {
    expect(after(EMPTY, write(5, true))).toEqual({ floor: 5, value: 'by 5' });
    expect(after({ floor: 6, value: 'a' }, write(5, true))).toBeUndefined();
    expect(after({ floor: 6, value: 'a' }, write(5, false))).toEqual({ floor: 6, value: 'a' });
    expect(after({ floor: 5, value: 'a' }, write(5, false))).toBeUndefined();
    const shared: Step = { kind: 'install', token: 9, floor: 4, accepted: true };
    expect(after({ floor: 6, value: 'a' }, shared)).toEqual({ floor: 6, value: 'a' });
    expect(after({ floor: 6, value: 'a' }, { kind: 'read', value: 'b' })).toBeUndefined();
  });

  it('finds the order that explains calls at once, if there is one', () => {
    expect(afterAll([EMPTY], [write(7, true), write(5, true)])).toEqual([{ floor: 7, value: 'by 7' }]);
    expect(afterAll([EMPTY], [write(7, true), write(5, false)])).toEqual([{ floor: 7, value: 'by 7' }]);
    expect(afterAll([EMPTY], [write(7, false), write(5, true)])).toEqual([]);
    const equal = afterAll([EMPTY], [write(5, true, 'a'), write(5, true, 'b')]);
    expect(new Set(equal.map(({ value }) => value))).toEqual(new Set(['a', 'b']));
    const late: readonly Step[] = [write(7, true), write(5, true), { kind: 'read', value: 'by 5' }];
    expect(afterAll([EMPTY], late)).toEqual([{ floor: 7, value: 'by 7' }]);
    expect(afterAll([{ floor: 7, value: 'by 7' }], [{ kind: 'read', value: 'by 5' }])).toEqual([]);
  });
});
