import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFence, parseFence } from '../../../src/resource/adapters/fence.ts';
import { ResourceInputError, type Connection } from '../../../src/resource/adapters/resource.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');
const TIMEOUT_MS = 50;

async function open(name: string): Promise<Connection> {
  return await openFence(parseFence(join(FIXTURES, name)), TIMEOUT_MS);
}

describe('a module as a resource', () => {
  it.each([
    ['taken', 'taken'],
    ['code', 'refused'],
    ['name', 'refused'],
    ['refused', 'refused'],
    ['fails', 'unknown'],
    ['hangs', 'unknown'],
  ])('has a write that is %s counted as %s', async (value, outcome) => {
    const connection = await open('answers.mjs');
    expect((await connection.write(value, 7)).type).toBe(outcome);
  });

  it('installs only if it can', async () => {
    expect((await open('answers.mjs')).install).toBeUndefined();
  });

  it.each([
    ['nothing.mjs', /must export a function open\(\), by that name or as its default; it exports answer/],
    ['half.mjs', /must have write\(value, token\) and read\(\); write\(\) is missing/],
    ['fails.mjs', /open\(\) failed: no such database/],
  ])('is refused, with what it lacks: %s', async (name, message) => {
    await expect(open(name)).rejects.toThrow(message);
    await expect(open(name)).rejects.toThrow(ResourceInputError);
  });

  it('has to read what it was given', async () => {
    await expect((await open('answers.mjs')).read()).rejects.toThrow(/it gave number/);
  });
});

describe('the name of a resource', () => {
  it.each([
    ['/nowhere.mjs', undefined, /there is no such file/],
    ['postgres://localhost/db', undefined, /must begin with http/],
    ['http://[', undefined, /no URL/],
    [join(FIXTURES, 'nothing.mjs'), 'http://127.0.0.1:1/', /--install-url goes with a URL/],
  ])('is refused with what to do: %s', (text, installUrl, message) => {
    expect(() => parseFence(text, installUrl)).toThrow(message);
  });
});
