import { describe, expect, it } from 'vitest';
import { runProject, summarise } from '../runner/tests.mjs';

interface Failure {
  readonly name: string;
  readonly file?: string;
  readonly reason: string;
}

const failure = (file: string | undefined): Failure => ({
  name: `${file} > holds`,
  reason: 'too late',
  ...(file === undefined ? {} : { file }),
});
const result = (...failed: readonly Failure[]) => ({
  passed: 7,
  failed: [...failed],
  skipped: [],
  ok: failed.length === 0,
});

/** What comes of a project whose runs go so, and the files that each of them was given. */
async function outcome(again: boolean, ...results: readonly ReturnType<typeof result>[]) {
  const runs: unknown[] = [];
  const left = [...results];
  const execute = async (
    _project: string,
    _name: string,
    files: readonly string[] = [],
  ): Promise<ReturnType<typeof result>> => {
    runs.push(files);
    return await Promise.resolve(left.shift() ?? result());
  };
  const end = await runProject({ project: 'e2e', name: 'tests', again }, execute);
  return { runs, end, text: summarise([end]).text };
}

describe('a project of tests', () => {
  it('is run once when all pass', async () => {
    const { runs, end, text } = await outcome(true, result());
    expect(runs).toEqual([[]]);
    expect(end).toMatchObject({ ok: true, unsteady: [] });
    expect(text).toBe('7 passed, 0 failed, 0 skipped');
  });

  it('is counted as it is where nothing is ever run again', () => {
    expect(summarise([result()]).text).toBe('7 passed, 0 failed, 0 skipped');
  });

  it('passes with its failed files named when they pass by themselves', async () => {
    const { runs, end, text } = await outcome(true, result(failure('a'), failure('a'), failure('b')), result());
    expect(runs).toEqual([[], ['a', 'b']]);
    expect(end).toMatchObject({ ok: true, failed: [], unsteady: [failure('a'), failure('a'), failure('b')] });
    expect(text).toBe('10 passed (3 only when run again), 0 failed, 0 skipped');
  });

  it('fails with what failed the second time', async () => {
    const { end, text } = await outcome(true, result(failure('a'), failure('b')), result(failure('b')));
    expect(end).toMatchObject({ ok: false, failed: [failure('b')], unsteady: [] });
    expect(text).toBe('7 passed, 1 failed, 0 skipped');
  });

  it.each([
    ['its tests depend on seeds only', false, [failure('a')]],
    ['more than three files failed', true, ['a', 'b', 'c', 'd'].map(failure)],
    ['an error was no file’s', true, [failure('a'), failure(undefined)]],
  ])('is not run again where %s', async (_why, again, failed) => {
    const { runs, end } = await outcome(again, result(...failed));
    expect(runs).toEqual([[]]);
    expect(end).toMatchObject({ ok: false, failed, unsteady: [] });
  });
});
