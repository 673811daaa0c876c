import { EventEmitter } from 'node:events';
import { FenceError, type Holder } from '@holdfast/fence';
import { describe, expect, it } from 'vitest';
import { borrow, Borrowed, fenceOn, installOn, type Database, type FencedSession } from '../src/index.ts';

/** A database that does nothing, and says in which order it was asked. */
class Recorder {
  readonly steps: string[] = [];
  /** Fails in the step of that name. */
  readonly failsIn: string | undefined;
  readonly connection = Object.assign(new EventEmitter(), { query: (): void => this.did('query'), release: () => {} });

  constructor(failsIn?: string) {
    this.failsIn = failsIn;
  }

  did(step: string): void {
    this.steps.push(step);
    if (step === this.failsIn) throw new FenceError('RESOURCE', `${step} failed`);
  }

  get database(): Database<object, typeof this.connection> {
    return {
      checkPool: () => this.did('check'),
      open: async () => {
        this.did('open');
        return this.#session();
      },
    };
  }

  #session(): FencedSession<typeof this.connection> {
    const guarded = { sending: /^query$/, ending: /^release$/, endingStatements: /^commit/ };
    return {
      borrowed: new Borrowed(this.connection, guarded, {
        release: () => this.did('release'),
        destroy: () => this.did('destroy'),
      }),
      install: async () => this.did('install'),
      enter: async () => this.did('enter'),
      commit: async () => this.did('commit'),
      rollBack: async () => {
        this.steps.push('roll back');
        return this.failsIn !== 'roll back';
      },
      failureOfBody: (error) => new Error('told', { cause: error }),
    };
  }
}

const call = (holder: Holder, options: { readonly signal?: AbortSignal } = {}) => ({
  pool: {},
  scope: 'jobs',
  holder,
  options,
});

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a call on a database', () => {
  it('verifies the token before its body, and asks for the lock before its commit', async () => {
    const recorder = new Recorder();
    const holder = { token: 5, assertHeld: () => recorder.did('ask') };
    const result = await fenceOn(recorder.database, call(holder), async (tx) => {
      tx.query();
      return 'result';
    });
    expect(result).toBe('result');
    const steps = ['check', 'ask', 'open', 'enter', 'query', 'ask', 'commit', 'roll back', 'release'];
    expect(recorder.steps).toEqual(steps);
  });

  it('that installs runs no body', async () => {
    const recorder = new Recorder();
    await installOn(recorder.database, call({ token: 5 }));
    expect(recorder.steps).toEqual(['check', 'open', 'install', 'roll back', 'release']);
  });

  it.each(['check', 'open', 'enter', 'commit'])('that fails in the step "%s" goes no further', async (step) => {
    const recorder = new Recorder(step);
    let ran = false;
    const failed = fenceOn(recorder.database, call({ token: 5 }), async () => {
      ran = true;
    });
    expect(await failureOf(failed)).toMatchObject({ message: `${step} failed` });
    expect(ran).toBe(step === 'commit');
    expect(recorder.steps.filter((each) => each === 'commit')).toHaveLength(step === 'commit' ? 1 : 0);
    expect(recorder.steps.includes('release')).toBe(step === 'enter' || step === 'commit');
  });

  it('whose body fails does not commit', async () => {
    const recorder = new Recorder();
    const own = new Error('own');
    const failed = fenceOn(recorder.database, call({ token: 5 }), () => Promise.reject(own));
    expect(await failureOf(failed)).toMatchObject({ message: 'told', cause: own });
    expect(recorder.steps).toEqual(['check', 'open', 'enter', 'roll back', 'release']);
  });

  it('whose connection is lost under the body does not commit, and destroys it', async () => {
    const recorder = new Recorder();
    const failed = fenceOn(recorder.database, call({ token: 5 }), async () => {
      recorder.connection.emit('end');
      recorder.connection.emit('error', new Error('later'));
    });
    const cause = { message: 'the server ended the connection', code: 'ECONNRESET' };
    expect(await failureOf(failed)).toMatchObject({ message: 'told', cause });
    expect(recorder.steps).toEqual(['check', 'open', 'enter', 'roll back', 'destroy']);
  });

  it('that a signal ends does not commit, and leaves the connection to nobody', async () => {
    const [recorder, aborter] = [new Recorder(), new AbortController()];
    const failed = fenceOn(recorder.database, call({ token: 5 }, { signal: aborter.signal }), async () =>
      aborter.abort(),
    );
    expect(await failureOf(failed)).toMatchObject({ code: 'ABORTED', indeterminate: false });
    expect(recorder.steps).toEqual(['check', 'open', 'enter', 'destroy']);
  });

  it('whose rollback fails destroys the connection', async () => {
    const recorder = new Recorder('roll back');
    await fenceOn(recorder.database, call({ token: 5 }), async () => undefined);
    expect(recorder.steps.at(-1)).toBe('destroy');
  });

  it('leaves no listener on a connection that goes back', async () => {
    const recorder = new Recorder();
    await fenceOn(recorder.database, call({ token: 5 }), async () => undefined);
    expect(recorder.connection.eventNames()).toEqual([]);
  });

  it.each([
    [{ waitMs: 2_147_483_001 }, 'waitMs is 2147483001'],
    [{ idleMs: 0 }, 'idleMs is 0'],
    [{ isolation: 'snapshot' }, 'isolation is "snapshot"; it is one of read committed, repeatable read, serializable'],
    [{ wait: 1 }, 'fence has no option "wait"'],
  ])('has no options %j', async (options, message) => {
    const recorder = new Recorder();
    const failed = fenceOn(recorder.database, { ...call({ token: 5 }), options: options as object }, async () => {});
    const error = await failureOf(failed);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(String(error)).toContain(message);
    expect(recorder.steps).toEqual([]);
  });
});

describe('a connection that is borrowed', () => {
  const cutoffOf = (signal: AbortSignal) => ({
    race: async <Result>(work: Promise<Result>): Promise<Result> => {
      signal.throwIfAborted();
      return await work;
    },
  });

  it('goes back when it comes after a signal', async () => {
    let released = 0;
    const late = Object.assign(new EventEmitter(), { release: () => void (released += 1) });
    const aborted = cutoffOf(AbortSignal.abort(new Error('lost')));
    await expect(borrow(Promise.resolve(late), aborted, '')).rejects.toThrow('lost');
    await Promise.resolve();
    expect(released).toBe(1);
    await expect(borrow(Promise.reject(new Error('no pool')), aborted, '')).rejects.toThrow('lost');
  });

  it('is none where it cannot go back', async () => {
    const live = cutoffOf(new AbortController().signal);
    for (const wrong of [undefined, {}, { release: 5 }]) {
      const connecting = Promise.resolve(wrong as unknown as EventEmitter & { release(): void });
      await expect(borrow(connecting, live, 'pass a pool')).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: 'pass a pool',
      });
    }
  });
});
