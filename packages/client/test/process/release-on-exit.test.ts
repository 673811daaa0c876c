import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../src/errors.ts';
import type { ReleaseOnExitOptions } from '../../src/process/release-on-exit.ts';
import { scenario } from '../support/scenario.ts';

const SIGNAL = 'SIGUSR2';

/** While it listens, the process does not end by that signal. */
function listening(): { readonly stop: () => void } {
  const listener = (): void => {};
  process.on(SIGNAL, listener);
  return { stop: () => void process.off(SIGNAL, listener) };
}

describe('a client that is to be closed when its process ends', () => {
  it('gives its locks back at the signal, after what is to be done before', async () => {
    const { world, ensemble, connect } = await scenario();
    const own = listening();
    try {
      const client = await connect();
      const held = await world.settled(client.lock('a').acquire());
      const before: unknown[] = [];
      client.releaseOnExit({ signals: [SIGNAL], before: (signal) => before.push([signal, held.loss]) });
      process.emit(SIGNAL, SIGNAL);
      await world.until(() => client.state === 'closed');
      expect(before).toEqual([[SIGNAL, undefined]]);
      expect(held.loss?.reason).toBe('closed');
      expect(ensemble.queue('a')).toEqual([]);
      expect(process.listenerCount(SIGNAL)).toBe(1);
    } finally {
      own.stop();
    }
  });

  it('is closed although what was to be done before failed', async () => {
    const { world, connect } = await scenario();
    const own = listening();
    try {
      const errors: unknown[] = [];
      const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
      const client = await connect({ logger });
      client.releaseOnExit({ signals: [SIGNAL], before: () => Promise.reject(new Error('unfinished')) });
      process.emit(SIGNAL, SIGNAL);
      await world.until(() => client.state === 'closed');
      expect(errors).toMatchObject([{ err: { message: 'unfinished' }, signal: SIGNAL }]);
    } finally {
      own.stop();
    }
  });

  it('leaves no listener when it is taken back, or when all such clients are closed', async () => {
    const { world, connect } = await scenario();
    const [one, other] = [await connect(), await connect()];
    const takeBack = one.releaseOnExit({ signals: [SIGNAL] });
    other.releaseOnExit({ signals: [SIGNAL, 'SIGHUP'] });
    expect(process.listenerCount(SIGNAL)).toBe(1);
    takeBack();
    takeBack();
    expect(process.listenerCount(SIGNAL)).toBe(1);
    await world.settled(other.close());
    expect(process.listenerCount(SIGNAL)).toBe(0);
    expect(process.listenerCount('SIGHUP')).toBe(0);
    other.releaseOnExit({ signals: [SIGNAL] });
    expect(process.listenerCount(SIGNAL)).toBe(0);
  });

  it('refuses signals that nobody can listen for, and unknown options', async () => {
    const { connect } = await scenario();
    const client = await connect();
    const wrong = (options: unknown) => () => client.releaseOnExit(options as ReleaseOnExitOptions);
    expect(wrong({ signals: ['SIGKILL'] })).toThrow(/"SIGKILL"; a process is ended, and hears it, by SIGTERM/);
    expect(wrong({ signals: ['TERM'] })).toThrow(InvalidArgumentError);
    expect(wrong({ signals: [] })).toThrow(/at least one signal/);
    expect(wrong({ signal: ['SIGTERM'] })).toThrow(/did you mean signals\?/);
    expect(wrong({ before: 5 })).toThrow(/before must be a function/);
  });
});
