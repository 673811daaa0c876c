/** Missing and malformed tokens: a resource that takes one of them takes every stale write of whoever sends it. */

import type { Holder } from '@holdfast/fence';
import { defineCase, type ConformanceCase } from '../case.ts';
import { ConformanceError, expectAccepted, expectValue, inTime, shown } from '../checks.ts';

/** As JavaScript and configuration files bring them. */
const TOKENS: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  '9',
  '',
  9n,
  true,
  [9],
  {},
];

export const malformedCases: readonly ConformanceCase[] = [
  defineCase('a write without a token is refused', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    for (const holder of [undefined, null, 9, 'held', {}]) {
      await expectRejected(`a write whose holder is ${shown(holder)}`, () =>
        resource.write(scope, holder as Holder, 'unfenced'),
      );
      await expectRejected(`an install of ${shown(holder)}`, () => resource.install(scope, holder as Holder));
    }
    await expectValue(resource, scope, 'mine', 'a write without a token must change nothing');
  }),

  defineCase('a malformed token is refused and installs nothing', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    for (const token of TOKENS) {
      const holder = { token } as Holder;
      await expectRejected(`a write under the token ${named(token)}`, () => resource.write(scope, holder, 'odd'));
      await expectRejected(`an install of the token ${named(token)}`, () => resource.install(scope, holder));
    }
    await expectValue(resource, scope, 'mine', 'a write under a malformed token must change nothing');
    await expectAccepted('a further write under 7', () => resource.write(scope, { token: 7 }, 'still mine'));
  }),

  defineCase('a malformed floor is refused and installs nothing', ['floors'], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    for (const floor of [...TOKENS.slice(1), 10]) {
      const holder = { token: 9, floor } as Holder;
      await expectRejected(`a write with the floor ${named(floor)}`, () => resource.write(scope, holder, 'odd'));
      await expectRejected(`an install of the floor ${named(floor)}`, () => resource.install(scope, holder));
    }
    await expectAccepted('a further write under 7', () => resource.write(scope, { token: 7 }, 'still mine'));
  }),
];

/** By whatever error: an adapter may refuse it itself, or the resource. */
async function expectRejected(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await inTime(what, async () => await call());
  } catch (error) {
    if (error instanceof ConformanceError) throw error;
    return;
  }
  throw new ConformanceError(`${what} was accepted`);
}

function named(token: unknown): string {
  return typeof token === 'bigint' ? `${token}n` : (JSON.stringify(token) ?? 'undefined');
}
