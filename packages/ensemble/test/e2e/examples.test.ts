import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from '@holdfast/client';
import { postgresPrograms, startPostgres } from '@holdfast/fence-postgresql/test/server';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { waitUntil } from '../../src/index.ts';
import { startScratchEnsemble } from './scratch-ensemble.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../examples', import.meta.url));
const MAX_LINES = 80;

const bin = postgresPrograms();
let scratch: Awaited<ReturnType<typeof startScratchEnsemble>>;
let databaseUrl: string | undefined;
let stopDatabase: (() => Promise<void>) | undefined;

beforeAll(async () => {
  scratch = await startScratchEnsemble({ fencedKv: true });
  if (bin === undefined) return;
  const database = await startPostgres(bin);
  databaseUrl = database.url;
  stopDatabase = () => database.stop();
});
afterAll(async () => {
  await scratch?.stop();
  await stopDatabase?.();
});

interface Started {
  readonly lines: string[];
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
  /** As if its machine had failed. */
  kill(): void;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

function start(program: string, ...args: readonly string[]): Started {
  const { clientAddresses, fencedKvUrl } = scratch.ensemble;
  const env = {
    ...process.env,
    HOLDFAST_SERVERS: clientAddresses.join(','),
    HOLDFAST_STORE: fencedKvUrl,
    DATABASE_URL: databaseUrl,
  };
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
    signal: (name) => void child.kill(name),
  };
}

/** The first line that matches, once it is there. */
async function line({ lines }: Started, wanted: RegExp): Promise<RegExpExecArray> {
  const find = (): RegExpExecArray | undefined =>
    lines.map((each) => wanted.exec(each)).find((match) => match !== null);
  const found = await waitUntil(() => Promise.resolve(find()), 30_000);
  if (found === undefined) throw new Error(`it said ${JSON.stringify(lines)}, and nothing like ${String(wanted)}`);
  return found;
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

const RUN = /^run (\d+) under token (\d+)$/;

describe('the example of', () => {
  it('a cron job runs each time on one machine alone, and on another one when that has died', async () => {
    const first = start('cron', 'nightly', '250');
    await line(first, RUN);
    const second = start('cron', 'nightly', '250');
    await line(second, /^ready$/);
    const third = start('cron', 'nightly', '250');
    await line(third, /^ready$/);
    first.kill();
    await first.ended;
    await waitUntil(
      () => Promise.resolve([...second.lines, ...third.lines].some((each) => RUN.test(each)) || undefined),
      30_000,
    );
    expect(await Promise.all([second, third].map((each) => each.stop()))).toEqual([0, 0]);
    const runs = [first, second, third].map(({ lines }) => lines.flatMap((each) => RUN.exec(each) ?? []));
    const slots = runs.flatMap((each) => each.filter((_, at) => at % 3 === 1)).map(Number);
    expect(new Set(slots).size).toBe(slots.length);
    const leaders = runs.filter((each) => each.length > 0);
    expect(leaders.length).toBeGreaterThan(1);
    const tokens = leaders.map((each) => [...new Set(each.filter((_, at) => at % 3 === 2))].map(Number));
    expect(Math.min(...(tokens.at(-1) ?? []))).toBeGreaterThan(Math.max(...(tokens[0] ?? [])));
  });

  it('a booking sells each seat once, and tells every buyer how many are before', async () => {
    const booking = start('booking', 'hamlet', '10', '500');
    expect(await booking.ended).toBe(0);
    expect(booking.lines).toEqual([
      '500 buyers queue, and know that 0 to 499 are before them',
      '10 bought a seat, 490 heard that the show is sold out',
      '10 seats are taken',
    ]);
  });

  it('a queue of jobs gives the job of a worker that hangs to another one, and refuses what it writes late', async () => {
    expect(await start('jobs', 'put', 'one', 'two').ended).toBe(0);
    const slow = start('jobs', 'work', '1500');
    const [, id = '', token] = await line(slow, /^begins (\S+) under token (\d+)$/);
    slow.signal('SIGSTOP');
    const quick = start('jobs', 'work');
    const [, later] = await line(quick, new RegExp(`^begins ${id} under token (\\d+)$`));
    expect(Number(later)).toBeGreaterThan(Number(token));
    await line(quick, new RegExp(`^has done ${id}: ONE$`));
    slow.signal('SIGCONT');
    await line(slow, new RegExp(`^was too late with ${id}: `));
    expect(quick.lines.filter((each) => each.startsWith('has done'))).toHaveLength(2);
    expect(await Promise.all([slow, quick].map((each) => each.stop()))).toEqual([0, 0]);
    expect(slow.lines.some((each) => each.startsWith(`has done ${id}`))).toBe(false);
  });

  it('a migration runs once, however many start it', async () => {
    const replicas = [start('migration', 'v2'), start('migration', 'v2'), start('migration', 'v2')];
    expect(await Promise.all(replicas.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const said = replicas.flatMap(({ lines }) => lines);
    expect(said.filter((each) => each.startsWith('step: '))).toHaveLength(3);
    expect(said.filter((each) => /^migrated under token \d+$/.test(each))).toHaveLength(1);
    expect(said.filter((each) => each === 'was migrated before')).toHaveLength(2);
  });

  it('a file in an object store loses no line of several who write it, and takes no late write', async () => {
    const writers = start('object-store', '4', '3');
    expect(await writers.ended).toBe(0);
    expect(writers.lines).toEqual([
      expect.stringMatching(/^the file has 12 lines, the last written under token \d+$/),
      'a late write is refused',
    ]);
  });
});

describe('the example of', () => {
  it('a cache is rebuilt by one of many that find it empty, and read by all of them at once', async () => {
    const client = await connect({ servers: scratch.ensemble.clientAddresses });
    onTestFinished(() => client.close());
    // Nobody looks before all are in line, so that more than one finds it empty.
    const held = await client.readWriteLock('caches/prices').write().acquire();
    const all = Array.from({ length: 4 }, () => start('cache', 'prices', '5000'));
    const queue = async () => await client.admin.lock('caches/prices');
    await expect.poll(async () => (await queue()).waiters.length, { timeout: 30_000 }).toBe(4);
    await held.release();
    await Promise.all(all.map((each) => line(each, /^reads /)));
    await expect.poll(async () => (await queue()).holders.length, { timeout: 30_000 }).toBe(4);
    expect(await Promise.all(all.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    const lines = all.flatMap((each) => each.lines);
    expect(lines.filter((each) => /^rebuilt under token \d+$/.test(each))).toHaveLength(1);
    expect(new Set(lines.filter((each) => each.startsWith('reads '))).size).toBe(1);
  });

  it('imports runs no more of them than there are permits, on all machines together', async () => {
    const files = ['a', 'b.zip', 'c', 'd', 'e.zip'];
    const client = await connect({ servers: scratch.ensemble.clientAddresses });
    onTestFinished(() => client.close());
    const left = await client.semaphore('examples-imports', { permits: 3 }).acquire({ permits: 2 });
    const [one, two] = [start('imports', '3', ...files), start('imports', '3', ...files)];
    await Promise.race([line(one, /^begins /), line(two, /^begins /)]);
    await left.release();
    expect(await Promise.all([one.ended, two.ended])).toEqual([0, 0]);
    for (const { lines } of [one, two]) {
      expect(lines.filter((each) => each.startsWith('ends ')).toSorted()).toEqual(files.map((file) => `ends ${file}`));
      expect(lines.at(-1)).toMatch(/^5 files are imported, with at most [1-3] permits at a time here$/);
    }
    const held = await client.semaphore('examples-imports', { permits: 3 }).acquire();
    const other = start('imports', '4', 'a');
    expect(await other.ended).not.toBe(0);
    expect(other.lines.join('\n')).toContain('INVALID_ARGUMENT');
    await held.release();
  });

  it('a transfer moves money in every direction at once, and takes no late write to either account', async () => {
    const tellers = start('transfer', '5', '8');
    expect(await tellers.ended).toBe(0);
    expect(tellers.lines).toEqual(['40 transfers were made, and the sum is still 3000', 'a late transfer is refused']);
  });

  it('a ledger is closed under the one token of all that is booked with it, and nobody books in between', async () => {
    expect(await start('ledger', 'may', '7').ended).toBe(0);
    const all = [start('ledger', 'may', '1', '2'), start('ledger', 'may', '--close', '10', '20', '30')];
    const [other, closing] = all;
    expect(await Promise.all(all.map(({ ended }) => ended))).toEqual([0, 0]);
    const tokens = closing?.lines.map((each) => / under token (\d+)$/.exec(each)?.[1]);
    expect([tokens?.length, new Set(tokens).size]).toEqual([4, 1]);
    const before = other?.lines.flatMap((each) => /^booked (\d+)/.exec(each)?.[1] ?? []).map(Number) ?? [];
    const sum = before.reduce((left, right) => left + right, 7 + 60);
    expect(closing?.lines.at(-1)).toBe(`closed with ${sum} under token ${tokens?.[0]}`);
    const late = start('ledger', 'may', '5');
    expect(await late.ended).toBe(0);
    expect(late.lines).toEqual(['5 is not booked: the ledger is closed']);
  });

  it('a scheduler on a database loses no run and makes none twice, though its leader is paused', async (context) => {
    context.skip(databaseUrl === undefined, 'PostgreSQL is not installed');
    const leader = start('postgres-scheduler', 'reports', '20');
    await line(leader, RUN);
    const next = start('postgres-scheduler', 'reports', '20');
    await line(next, /^ready$/);
    leader.signal('SIGSTOP');
    const [, , token] = await line(next, RUN);
    leader.signal('SIGCONT');
    // Whether a run was under way, and is refused, depends on where it was stopped.
    await line(leader, /^the term under token \d+ is over$/);
    expect(await Promise.all([leader, next].map((each) => each.stop()))).toEqual([0, 0]);
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    onTestFinished(() => database.end());
    const { rows } = await database.query<{ number: number; token: string }>(
      'SELECT number, token FROM runs ORDER BY number',
    );
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, place) => place + 1));
    const tokens = rows.map((row) => Number(row.token));
    expect(tokens).toEqual(tokens.toSorted((left, right) => left - right));
    expect(tokens).toContain(Number(token));
  });

  it('a booking in a database sells each seat once, though an office is paused and another one killed', async (context) => {
    context.skip(databaseUrl === undefined, 'PostgreSQL is not installed');
    const offices = [1, 2, 3].map(() => start('postgres-booking', 'lear', '60', '40'));
    const [paused, killed, other] = offices as [Started, Started, Started];
    for (const office of offices) await line(office, /^ready$/);
    paused.signal('SIGSTOP');
    killed.kill();
    // It sells all that is left: its turn comes when the sessions of the others have expired.
    const [, sold] = await line(other, /^sold (\d+) seats, and \d+ buyers got none$/);
    paused.signal('SIGCONT');
    await line(paused, /^sold \d+ seats, and \d+ buyers got none$/);
    expect(await Promise.all([paused, other].map(({ ended }) => ended))).toEqual([0, 0]);
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    onTestFinished(() => database.end());
    const { rows } = await database.query<{ seat: number }>("SELECT seat FROM seats WHERE show = 'lear' ORDER BY seat");
    expect(rows.map(({ seat }) => seat)).toEqual(rows.map((_, place) => place + 1));
    expect(rows.length).toBeLessThanOrEqual(60);
    expect(rows.length).toBeGreaterThanOrEqual(Number(sold));
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
    ['cron', [], 'say a name of letters, digits, "_" and "-"'],
    ['booking', ['a/b'], 'say a show, of letters, digits, "_" and "-"'],
    ['jobs', ['get'], 'say "put" and the texts of the jobs, or "work"'],
    ['migration', [], 'say the name of a migration'],
    ['object-store', ['many'], 'say how many write, and how many lines each'],
    ['cache', ['prices', 'long'], 'say the name of a cache, of letters, digits, "_" and "-"'],
    ['imports', ['0', 'a'], 'say how many imports may run at a time, from 1 on'],
    ['transfer', ['none'], 'say how many tellers there are'],
    ['ledger', ['may', 'much'], 'say the name of a ledger, of letters, digits, "_" and "-", and amounts'],
    ['postgres-scheduler', [], 'say a name of letters, digits, "_" and "-"'],
    ['postgres-booking', ['a/b'], 'say a show, of letters, digits, "_" and "-"'],
    ['members', ['shop', 'a/b'], 'say a group and a name, each of letters, digits, "_" and "-"'],
  ])('says how it is used when it is used otherwise: %s', async (program, args, advice) => {
    const used = start(program, ...args);
    expect(await used.ended).toBe(64);
    expect(used.lines.at(-1)).toContain(advice);
  });
});
