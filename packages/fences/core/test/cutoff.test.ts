import { describe, expect, it } from 'vitest';
import { bounded, Cutoff, withCutoff } from '../src/adapter/index.ts';
import { FenceError } from '../src/index.ts';

const never = new Promise<never>(() => undefined);

describe('the end of a call by signals', () => {
  it('listens to none behind the call', () => {
    const aborter = new AbortController();
    let listeners = 0;
    const signal = Object.assign(aborter.signal, {
      addEventListener: () => void (listeners += 1),
      removeEventListener: () => void (listeners -= 1),
    });
    const cutoff = new Cutoff([signal, undefined, signal]);
    expect(listeners).toBe(1);
    cutoff.end();
    expect(listeners).toBe(0);
  });

  it('lets a commit that is under way answer, for a while', async () => {
    const aborter = new AbortController();
    const cutoff = new Cutoff([aborter.signal]);
    aborter.abort();
    expect(await cutoff.raceLate(Promise.resolve('answer'), 60_000)).toBe('answer');
    await expect(cutoff.raceLate(never, 1)).rejects.toMatchObject({ code: 'ABORTED', indeterminate: true });
    await expect(cutoff.race(never)).rejects.toMatchObject({ code: 'ABORTED', indeterminate: false });
  });

  it('has the reason of the signal as its cause, also of one that had aborted before', async () => {
    const aborter = new AbortController();
    const late = new Cutoff([undefined, aborter.signal]);
    expect(() => late.throwIfAborted()).not.toThrow();
    const racing = late.race(never);
    aborter.abort('lost');
    await expect(racing).rejects.toMatchObject({ code: 'ABORTED', cause: 'lost' });
    expect(late.signal).toMatchObject({ aborted: true, reason: 'lost' });
    const early = new Cutoff([null, AbortSignal.abort('before')], 'own words');
    expect(() => early.throwIfAborted()).toThrow(expect.objectContaining({ message: 'own words', cause: 'before' }));
  });

  it('is no end of what is quicker, nor of its own failure', async () => {
    const cutoff = new Cutoff([new AbortController().signal]);
    expect(await cutoff.race(Promise.resolve(5))).toBe(5);
    await expect(cutoff.race(Promise.reject(new Error('own')))).rejects.toThrow('own');
  });
});

describe('a wait', () => {
  const late = (): FenceError => new FenceError('TIMEOUT', 'late');

  it('has a limit of time besides the signals, and with none of them', async () => {
    const signals = [[], [new AbortController().signal]];
    for (const cutoff of signals.map((each) => new Cutoff(each))) {
      await expect(cutoff.race(never, { ms: 1, late })).rejects.toThrow('late');
      expect(await cutoff.race(Promise.resolve(5), { ms: 60_000, late })).toBe(5);
      await expect(cutoff.race(Promise.reject(new Error('own')), { ms: 60_000, late })).rejects.toThrow('own');
    }
  });

  it('is no end of what is done already when a signal aborts', async () => {
    const aborter = new AbortController();
    const cutoff = new Cutoff([aborter.signal]);
    const done = Promise.resolve(5);
    aborter.abort();
    expect(await cutoff.race(done)).toBe(5);
  });

  it('takes what is no promise, of JavaScript', async () => {
    const cutoff = new Cutoff([new AbortController().signal]);
    expect(await cutoff.race(5 as unknown as Promise<number>)).toBe(5);
  });

  it('of several at once ends with each of them', async () => {
    const aborter = new AbortController();
    const cutoff = new Cutoff([aborter.signal]);
    const waits = [cutoff.race(never), cutoff.race(never, { ms: 60_000, late }), cutoff.race(never)];
    aborter.abort('lost');
    for (const wait of waits) await expect(wait).rejects.toMatchObject({ code: 'ABORTED', cause: 'lost' });
  });
});

describe('a call', () => {
  it('does not begin when the lock is lost', async () => {
    let begun = 0;
    const run = async (): Promise<void> => void (begun += 1);
    const lost = {
      token: 5,
      assertHeld: () => {
        throw new Error('not held');
      },
    };
    await expect(withCutoff(lost, undefined, run)).rejects.toThrow('not held');
    const aborted = { token: 5, signal: AbortSignal.abort() };
    await expect(withCutoff(aborted, undefined, run)).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(withCutoff({ token: 5 }, AbortSignal.abort(), run)).rejects.toMatchObject({ code: 'ABORTED' });
    expect(begun).toBe(0);
    await withCutoff({ token: 5 }, undefined, run);
    expect(begun).toBe(1);
  });
});

describe('a bound on work', () => {
  it('ends what takes longer, and nothing else', async () => {
    const late = (): FenceError => new FenceError('TIMEOUT', 'late');
    await expect(bounded(never, 1, late)).rejects.toThrow('late');
    expect(await bounded(Promise.resolve(5), 60_000, late)).toBe(5);
  });
});
