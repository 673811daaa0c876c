import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from '../support/lockd-process.ts';
import { argumentsFor, dataOf, places, status, type Place } from '../support/places.ts';
import { entryOf, writeLog } from '../support/written-log.ts';

let directory: string;
let processes: LockdProcess[];
let trio: Place[];
let data: string;

/** Server 1 of three has acknowledged an entry, and lost it. */
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-lift-'));
  processes = [];
  trio = await places(3);
  data = dataOf(1, directory);
  const secretHash = new Uint8Array(32);
  const attach = { type: 'attach', secretHash, session: 0, timeoutMs: 10_000, label: '' } as const;
  await writeLog(1, trio, directory, [undefined, entryOf(attach, { session: 0, number: 1 })]);
  const [segment = 'none'] = readdirSync(join(data, 'group-0')).filter((name) => name.endsWith('.wal'));
  invertByte(join(data, 'group-0', segment), 100);
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.ended()));
  rmSync(directory, { recursive: true, force: true });
});

function invertByte(path: string, offset: number): void {
  const byte = (readFileSync(path)[offset] ?? 0) ^ 0xff;
  const file = openSync(path, 'r+');
  writeSync(file, new Uint8Array([byte]), 0, 1, offset);
  closeSync(file);
}

function run(args: readonly string[]): LockdProcess {
  const lockd = new LockdProcess(args);
  processes.push(lockd);
  return lockd;
}

async function serve(id: number): Promise<LockdProcess> {
  const lockd = run(argumentsFor(id, trio, directory));
  await lockd.serves();
  return lockd;
}

interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

async function command(...args: string[]): Promise<Ended> {
  const lockd = run(args);
  return { code: await lockd.ended(), stdout: lockd.stdout, stderr: lockd.stderr };
}

const lift = (...flags: string[]): Promise<Ended> => command('lift-vote-ban', '--data', data, ...flags);
const ACCEPTED = '--accept-lost-commands';

describe('lockd lift-vote-ban', () => {
  it('lets a server lead that has lost acknowledged log, once the operator accepts the loss', async () => {
    const banned = await serve(1);
    expect((await status(trio[0]?.client ?? 0)).voteBanned).toBe(true);
    expect(await lift(ACCEPTED)).toMatchObject({ code: 65, stderr: expect.stringContaining('in use by another') });
    banned.kill('SIGTERM');
    await banned.ended();

    const refused = await lift();
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /What is left ends at index 0 of term 0; acknowledged commands may have come behind it/,
    );
    expect(refused.stderr).toContain(`add ${ACCEPTED}; nothing was changed`);
    expect((await command('inspect', '--data', data)).stdout).toContain('may not vote since term 2');

    const lifted = await lift(ACCEPTED);
    expect(lifted).toMatchObject({ code: 0, stderr: '' });
    expect(lifted.stdout).toContain('lifted: server 1 votes from term 2 on, with a log that ends at index 0 of term 0');
    // It has voted in term 1, and forgotten that.
    const { stdout } = await command('inspect', '--data', data);
    expect(stdout).toContain('term 2, vote none');
    expect(stdout).not.toContain('may not vote');
    expect(await lift(ACCEPTED)).toMatchObject({ code: 0, stdout: 'server 1 may vote: there is no ban to lift\n' });

    // Neither of the two is a quorum without the other.
    await serve(1);
    await serve(2);
    await until(async () => (await status(trio[0]?.client ?? 0)).leader !== 0);
    expect((await status(trio[0]?.client ?? 0)).voteBanned).toBe(false);
  });

  it('refuses a log that no start has repaired, and a directory that is none', async () => {
    const files = readdirSync(join(data, 'group-0'));
    expect(await lift(ACCEPTED)).toMatchObject({ code: 67, stdout: '', stderr: expect.stringContaining('is damaged') });
    expect(readdirSync(join(data, 'group-0'))).toEqual(files);
    const elsewhere = await command('lift-vote-ban', '--data', directory, ACCEPTED);
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a data directory') });
    const nowhere = await command('lift-vote-ban', ACCEPTED);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('lift-vote-ban needs --data') });
  });
});
