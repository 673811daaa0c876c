/** The lines of the pages of the fenced store, run as they are against a real one, under a real lock. */

import { compileFunction } from 'node:vm';

import { connect, type Client } from '@holdfast/client';
import { FencedKv } from '@holdfast/fenced-kv-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { codeBlocks, type CodeBlock } from '../support/documents.ts';
import { startScratchEnsemble } from './scratch-ensemble.ts';

const PAGE = 'docs/fenced-kv.md';
const blocks = codeBlocks().filter(({ at, language }) => at.startsWith(PAGE) && ['js', 'ts'].includes(language));

let scratch: Awaited<ReturnType<typeof startScratchEnsemble>>;
let client: Client;

beforeAll(async () => {
  scratch = await startScratchEnsemble({ fencedKv: true });
  client = await connect({ servers: scratch.ensemble.clientAddresses });
});
afterAll(async () => {
  await client?.close();
  await scratch?.stop();
});

async function run({ text, at }: CodeBlock, given: Readonly<Record<string, unknown>>): Promise<void> {
  const lines = text
    .replaceAll(/^import .*\n/gm, '')
    .replaceAll('http://127.0.0.1:7400', scratch.ensemble.fencedKvUrl ?? '');
  const names = ['client', 'FencedKv', ...Object.keys(given)];
  const body = compileFunction(`return (async () => {\n${lines}\n})();`, names, { filename: at }) as (
    ...values: readonly unknown[]
  ) => Promise<void>;
  await body(client, FencedKv, ...Object.values(given));
}

describe(`the lines of ${PAGE}`, () => {
  const accounts = (): ReturnType<FencedKv['bucket']> =>
    new FencedKv(scratch.ensemble.fencedKvUrl ?? '').bucket('accounts');

  it('read and write under the token of the lock, as often as they are run', async () => {
    const [block] = blocks;
    if (block === undefined) throw new Error(`${PAGE} has no lines`);
    for (const text of ['one', 'two']) {
      await run(block, { bytes: new TextEncoder().encode(text) });
      expect(new TextDecoder().decode((await accounts().get('42'))?.value)).toBe(text);
    }
    expect((await accounts().list()).keys.map(({ key }) => key)).toEqual(['42', 'a']);
    expect((await accounts().info())?.highest).toBeGreaterThan(0);
  });

  it('follow a bucket from what is there to what comes', async () => {
    const [, block] = blocks;
    if (block === undefined) throw new Error(`${PAGE} has no second block`);
    const enough = new Error('enough was told');
    const told: string[] = [];
    const refresh = (key: string): void => {
      told.push(key);
      if (key === 'later') throw enough;
    };
    const following = expect(run(block, { accounts: accounts(), refresh })).rejects.toBe(enough);
    await client.lock('accounts').withLock(async (held) => {
      await (await accounts().fencedBy(held)).put('later', 'three');
    });
    await following;
    expect(told).toEqual(['42', 'a', 'later']);
  });
});
