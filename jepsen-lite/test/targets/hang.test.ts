import { describe, expect, it } from 'vitest';
import { allOf, HangError, withinLimit } from '../../src/targets/hang.ts';

const never = (): Promise<never> => new Promise(() => undefined);

describe('a step with a limit', () => {
  it('comes to what it came to in time', async () => {
    expect(await withinLimit('a step', 1_000, () => 7)).toBe(7);
    expect(await withinLimit('a step', 1_000, () => Promise.resolve('done'))).toBe('done');
    await expect(withinLimit('a step', 1_000, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk');
  });

  it('fails by its name when the time is over', async () => {
    const late = withinLimit('healing the disk of s2', 5, never);
    await expect(late).rejects.toThrow(HangError);
    await expect(late).rejects.toThrow('healing the disk of s2 has not ended within 5 ms');
  });

  it('hangs nobody when it fails late', async () => {
    const steps: string[] = [];
    const late = withinLimit('a step', 5, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      steps.push('failed');
      throw new Error('late');
    });
    await expect(late).rejects.toThrow(HangError);
    await expect.poll(() => steps).toEqual(['failed']);
  });
});

describe('steps that clear away', () => {
  it('are all done, whatever became of those before, and say what went wrong', async () => {
    const done: string[] = [];
    const steps = [
      { what: 'the first', act: never },
      { what: 'the second', act: () => Promise.reject(new Error('busy')) },
      { what: 'the third', act: () => done.push('third') },
    ];
    expect(await allOf(steps, 5)).toBe('the first has not ended within 5 ms; the second: busy');
    expect(done).toEqual(['third']);
    expect(await allOf(steps.slice(2), 5)).toBeUndefined();
  });
});
