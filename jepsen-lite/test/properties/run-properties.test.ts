import { describe, expect, it } from 'vitest';

import { UnsupportedEntryError } from '@holdfast/state';

import { LyingMachine, type Lie } from './support/lying-machine.ts';
import {
  describeFailure,
  runProperties,
  type PropertyOptions,
  type PropertyReport,
} from '../../src/properties/run-properties.ts';

/** Answers that an acquire of a lock which is held holds it. */
const TWO_HOLDERS: Lie = {
  outputs: (outputs, index) =>
    outputs.map((output) =>
      output.type === 'reply' && output.reply.type === 'acquire' && output.reply.token === 0
        ? { ...output, reply: { ...output.reply, token: index } }
        : output,
    ),
};

function lying(lie: Lie, options: Partial<PropertyOptions> = {}): PropertyReport {
  return runProperties({ runs: 50, commands: 60, seed: 2, makeMachine: () => new LyingMachine(lie), ...options });
}

describe('a run of the properties', () => {
  it('reports the promise that broke, with the shortest script that breaks it', () => {
    const { failure } = lying(TWO_HOLDERS);
    expect(failure).toMatchObject({ kind: 'promise', name: 'a lock has no holders that may not hold it together' });
    expect(failure?.also).toContain('queries about locks show what was reported');
    expect(failure?.commands).toHaveLength(3);
    expect(failure?.commands[1]).toContain('request 1, acknowledging 0: acquire lock');
  });

  it('runs a failure again by its seed and path alone', () => {
    const { failure } = lying(TWO_HOLDERS);
    const again = lying(TWO_HOLDERS, { path: failure?.path ?? '' });
    expect(again.runs).toBe(1);
    expect(again.failure?.commands).toEqual(failure?.commands);
  });

  it('is the same run for the same seed', () => {
    const report = (): PropertyReport => runProperties({ runs: 5, commands: 60, seed: 3 });
    expect(report()).toEqual(report());
  });

  it('says how to run a failure again', () => {
    const text = describeFailure(lying(TWO_HOLDERS));
    expect(text).toMatch(
      /a lock has no holders that may not hold it together\n.*\n(.*\n)* +seed 2, path [\d:]+, 60 commands/,
    );
  });

  it('distinguishes what was not foreseen from a broken promise', () => {
    const { failure } = lying({
      outputs: () => {
        throw new TypeError('undefined is not a function');
      },
    });
    expect(failure).toMatchObject({ kind: 'error', name: 'unexpected error' });
    expect(failure?.commands.at(-1)).toContain('undefined is not a function');
  });

  it('names the invariant when the product stops by itself', () => {
    const { failure } = lying({ outputs: (_outputs, _index, real) => real.apply(1_000_000, new Uint8Array(0)) });
    expect(failure).toMatchObject({
      kind: 'invariant',
      name: 'invariant: entries are applied in index order without gaps',
    });
  });

  it('demands that an entry of another version is refused by throwing', () => {
    const { failure } = lying({
      thrown: (error) => {
        if (error instanceof UnsupportedEntryError) return [];
        throw error;
      },
    });
    expect(failure?.name).toBe('an entry of another version is refused before anything has changed');
    expect(failure?.commands).toHaveLength(1);
  });

  it('demands that what is listed can be read', () => {
    const { failure } = lying({
      answer: (answer, query) =>
        query.type === 'get' && query.path === '/holdfast/locks/b'
          ? { type: 'error', code: 'NOT_FOUND', message: 'a lie' }
          : answer,
    });
    expect(failure?.name).toBe('what is listed can be read');
  });
});
