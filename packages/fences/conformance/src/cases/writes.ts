/** The rule itself, one call after another: a lower token is refused and changes nothing, an equal or higher one is taken. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectValue } from '../checks.ts';

const HIGHEST = Number.MAX_SAFE_INTEGER;

export const writeCases: readonly ConformanceCase[] = [
  defineCase('a holder reads what it wrote, and writes as often as it likes', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectValue(resource, scope, null, 'a fresh scope has no value');
    for (const value of ['one', 'two', 'three']) {
      await expectAccepted(`the write of ${value}`, () => resource.write(scope, { token: 7 }, value));
      await expectValue(resource, scope, value, 'it was written last', { holder: { token: 7 } });
      await expectValue(resource, scope, value, 'it was written last');
    }
  }),

  defineCase('a stale write is refused and changes nothing', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('the first write', () => resource.write(scope, { token: 5 }, 'older'));
    await expectAccepted('the write under a higher token', () => resource.write(scope, { token: 7 }, 'newer'));
    for (const token of [5, 6, 1]) {
      await expectRefused(`a write under ${token} after one under 7`, () => resource.write(scope, { token }, 'stale'));
    }
    await expectValue(resource, scope, 'newer', 'stale writes must change nothing');
    await expectAccepted('a further write under 7', () => resource.write(scope, { token: 7 }, 'newest'));
    await expectValue(resource, scope, 'newest', 'the refusals of others must not hinder the newest holder');
  }),

  defineCase('a stale write is refused over another connection', ['other'], async ({ resource, another }) => {
    const scope = await resource.scope();
    const other = await another();
    await expectAccepted('the first write', () => other.write(scope, { token: 5 }, 'older'));
    await expectAccepted('the write of another process', () => resource.write(scope, { token: 7 }, 'newer'));
    await expectRefused('a write under 5 after one under 7', () => other.write(scope, { token: 5 }, 'stale'));
    await expectValue(other, scope, 'newer', 'both connections are to the same data');
  }),

  defineCase('a replay of an older write is refused, one of the newest is taken', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write', () => resource.write(scope, { token: 5 }, 'older'));
    await expectAccepted('its replay', () => resource.write(scope, { token: 5 }, 'older'));
    await expectValue(resource, scope, 'older', 'a replay writes the same');
    await expectAccepted('the write under a higher token', () => resource.write(scope, { token: 7 }, 'newer'));
    await expectRefused('the replay after it', () => resource.write(scope, { token: 5 }, 'older'));
    await expectValue(resource, scope, 'newer', 'a late replay must change nothing');
  }),

  defineCase('two writers under one token are one holder', [], async ({ resource, another }) => {
    const scope = await resource.scope();
    const other = await another();
    for (const [writer, value] of [
      [resource, 'a'],
      [other, 'b'],
      [resource, 'c'],
      [other, 'd'],
    ] as const) {
      await expectAccepted(`the write of ${value}`, () => writer.write(scope, { token: 7 }, value));
      await expectValue(resource, scope, value, 'it was written last');
    }
  }),

  defineCase('tokens are compared as numbers', [], async ({ resource }) => {
    for (const [lower, higher] of [
      [9, 10],
      [99, 100],
      [2 ** 31 - 1, 2 ** 31],
      [2 ** 32 - 1, 2 ** 32],
    ] as const) {
      const scope = await resource.scope();
      await expectAccepted(`a write under ${lower}`, () => resource.write(scope, { token: lower }, 'older'));
      await expectAccepted(`then one under ${higher}`, () => resource.write(scope, { token: higher }, 'newer'));
      await expectRefused(`then one under ${lower}`, () => resource.write(scope, { token: lower }, 'stale'));
    }
  }),

  defineCase('the highest token, 2^53 − 1, is exact', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 2^53 − 2', () => resource.write(scope, { token: HIGHEST - 1 }, 'older'));
    await expectAccepted('a write under 2^53 − 1', () => resource.write(scope, { token: HIGHEST }, 'newer'));
    await expectRefused('a write under 2^53 − 2', () => resource.write(scope, { token: HIGHEST - 1 }, 'stale'));
    await expectAccepted('a further one under 2^53 − 1', () => resource.write(scope, { token: HIGHEST }, 'newest'));
    await expectValue(resource, scope, 'newest', 'the newest holder wrote last');
  }),

  defineCase('scopes have tokens of their own', [], async ({ resource }) => {
    const [scope, neighbour] = [await resource.scope(), await resource.scope()];
    await expectAccepted('a write in one scope', () => resource.write(scope, { token: 7 }, 'here'));
    await expectAccepted('an older token in another', () => resource.write(neighbour, { token: 5 }, 'there'));
    await expectValue(resource, scope, 'here', 'a write in another scope must not change this one');
    await expectValue(resource, neighbour, 'there', 'it was written there');
  }),

  defineCase('a token fences all cells of its scope, written or not', ['cells'], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write of a', () => resource.write(scope, { token: 5 }, 'older', 'a'));
    await expectAccepted('a newer write of b', () => resource.write(scope, { token: 7 }, 'newer', 'b'));
    for (const cell of ['a', 'c']) {
      await expectRefused(`a stale write of ${cell}, which the newer holder has not written`, () =>
        resource.write(scope, { token: 5 }, 'stale', cell),
      );
    }
    await expectValue(resource, scope, 'older', 'a stale write must change nothing', { cell: 'a' });
    await expectValue(resource, scope, null, 'a stale write must change nothing', { cell: 'c' });
  }),
];
