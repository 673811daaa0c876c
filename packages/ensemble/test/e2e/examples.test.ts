import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from '@holdfast/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { waitUntil } from '../../src/index.ts';
import { startScratchEnsemble } from './scratch-ensemble.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../examples', import.meta.url));
const MAX_LINES = 80;

let scratch: Awaited<ReturnType<typeof startScratchEnsemble>>;

beforeAll(async () => {
  scratch = await startScratchEnsemble();
});
afterAll(async () => {
  await scratch?.stop();
});

interface Started {
  readonly lines: string[];
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
  /** As if its machine had failed. */
  kill(): void;
}

function start(program: string, ...args: readonly string[]): Started {
  const env = { ...process.env, HOLDFAST_SERVERS: scratch.ensemble.clientAddresses.join(',') };
  const child = spawn(process.execPath, [`${EXAMPLES}/dist/${program}.js`, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trimEnd().split('\n')));
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  return {
    lines,
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

async function said({ lines }: Started, line: string): Promise<void> {
  const found = await waitUntil(() => Promise.resolve(lines.at(-1) === line ? line : undefined), 30_000);
  expect(found, `it said ${JSON.stringify(lines)}`).toBe(line);
}

describe('the example of', () => {
  it('a counter loses no addition of several who count at once', async () => {
    const counters = [start('counter', '7'), start('counter', '7'), start('counter', '7')];
    expect(await Promise.all(counters.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const counts = counters.flatMap(({ lines }) => lines.map(Number));
    expect(counts.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
  });

  it('a barrier lets nobody through before all have come, and one that died does not count', async () => {
    const [dead, early] = [start('barrier', 'b', '3'), start('barrier', 'b', '3')];
    await Promise.all([dead, early].map((each) => said(each, 'waiting')));
    dead.kill();
    const client = await connect({ servers: scratch.ensemble.clientAddresses });
    onTestFinished(() => client.close());
    const waitAlone = async (): Promise<true | undefined> =>
      (await client.nodes.children('/examples-barrier-b')).names.length === 1 ? true : undefined;
    expect(await waitUntil(waitAlone, 30_000)).toBe(true);
    const second = start('barrier', 'b', '3');
    await said(second, 'waiting');
    expect(early.lines).toEqual(['waiting']);
    const last = start('barrier', 'b', '3');
    expect(await Promise.all([early, second, last].map(({ ended }) => ended))).toEqual([0, 0, 0]);
    for (const { lines } of [early, second, last]) expect(lines).toEqual(['waiting', 'go']);
  });

  it('a configuration shows each change, that of a node which comes first or goes as well', async () => {
    const follower = start('config');
    await said(follower, 'there is no configuration');
    expect(await start('config', 'set', 'red').ended).toBe(0);
    await said(follower, 'configuration: red');
    expect(await start('config', 'set', 'blue').ended).toBe(0);
    await said(follower, 'configuration: blue');
    expect(await follower.stop()).toBe(0);
  });

  it('a group shows who is there, and who comes and goes, also without a word', async () => {
    const anna = start('members', 'shop', 'anna');
    await said(anna, 'members: anna');
    const [bert, cleo] = [start('members', 'shop', 'bert'), start('members', 'shop', 'cleo')];
    await Promise.all([anna, bert, cleo].map((each) => said(each, 'members: anna, bert, cleo')));
    const second = start('members', 'shop', 'anna');
    expect(await second.ended).toBe(65);
    expect(second.lines).toEqual(['shop has a member anna already; take another name']);
    expect(await bert.stop()).toBe(0);
    await said(anna, 'members: anna, cleo');
    cleo.kill();
    await said(anna, 'members: anna');
    expect(await anna.stop()).toBe(0);
  });
});

describe('every example', () => {
  const programs = readdirSync(`${EXAMPLES}/src`);

  it.each(programs)('is short: %s', (program) => {
    expect(readFileSync(`${EXAMPLES}/src/${program}`, 'utf8').split('\n').length).toBeLessThan(MAX_LINES);
  });

  it.each([
    ['counter', ['often'], 'how often is "often"; say a whole number from 1 on'],
    ['barrier', ['b'], 'how many must come: a whole number from 1 on'],
    ['config', ['get'], 'say nothing, to follow the configuration, or "set" and a text'],
    ['members', ['shop', 'a/b'], 'say a group and a name, each of letters, digits, "_" and "-"'],
  ])('says how it is used when it is used otherwise: %s', async (program, args, advice) => {
    const used = start(program, ...args);
    expect(await used.ended).toBe(64);
    expect(used.lines.at(-1)).toContain(advice);
  });
});
