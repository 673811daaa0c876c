import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@holdfast/client';
import { CreateMode, type Command } from '@holdfast/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STATE_DIGEST_INTERVAL } from '../../src/limits.ts';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, onePlace, places } from './support/places.ts';
import { entryOf, writeLog } from './support/written-log.ts';

let directory: string;
let processes: LockdProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-stops-'));
  processes = [];
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.ended()));
  rmSync(directory, { recursive: true, force: true });
});

function start(args: readonly string[]): LockdProcess {
  const lockd = new LockdProcess(args);
  processes.push(lockd);
  return lockd;
}

/** The session that the second entry makes, and the requests that it sends from the third on. */
const SESSION = 2;
const ATTACH: Command = {
  type: 'attach',
  secretHash: new Uint8Array(32),
  session: 0,
  timeoutMs: 120_000,
  label: 'writer',
};
const attached = entryOf(ATTACH, { session: 0, number: 1 });

function created(number: number, path = '/n-'): Uint8Array {
  const command: Command = { type: 'create', path, data: new Uint8Array(), mode: CreateMode.persistentSequential };
  return entryOf(command, { session: SESSION, number });
}

function altered(entry: Uint8Array, offset: number, value: number): Uint8Array {
  const copy = Uint8Array.from(entry);
  copy[offset] = value;
  return copy;
}

describe('a server that finds an entry of a later version in its log', () => {
  it.each([
    [
      // One of a leader. Those of clients are answered: nobody is to stop for what a client sends.
      'command number',
      altered(created(1), 1, 100),
      /entry at index 3 has the unknown command number 100; .*run the version/,
    ],
    ['format version', altered(created(1), 0, 2), /entry at index 3 has format version 2, not 1; .*run the version/],
  ])('ends with 70 and says which, if it is the %s', async (_, entry, message) => {
    const place = await onePlace();
    await writeLog(1, [place], directory, [undefined, attached, entry]);
    const lockd = start(argumentsFor(1, [place], directory));
    expect(await lockd.ended(), lockd.stderr).toBe(70);
    expect(lockd.stderr.trim().split('\n').at(-1)).toMatch(message);
    // Nothing is lost: it ends so each time, until the right version is started.
    expect(await start(argumentsFor(1, [place], directory)).ended()).toBe(70);
  });
});

describe('a server whose state is not what the others made of the same log', () => {
  it('ends with 69, each time, and the majority goes on', async () => {
    const trio = await places(3);
    // The last index before the digests are compared.
    const common = [
      undefined,
      attached,
      ...Array.from({ length: STATE_DIGEST_INTERVAL - 3 }, (_, n) => created(n + 1)),
    ];
    const other = common.with(500, created(499, '/nowhere/n-'));
    for (const id of [1, 2]) await writeLog(id, trio, directory, common);
    await writeLog(3, trio, directory, other);
    const servers = trio.map((_, n) => start(argumentsFor(n + 1, trio, directory)));

    const [, , third] = servers;
    const client = await connect({ servers: trio.slice(0, 2).map((place) => `127.0.0.1:${place.client}`) });
    const tokens: number[] = [];
    const cycle = (): Promise<void> => client.lock('after').withLock(async (held) => void tokens.push(held.token));
    while (third?.child.exitCode === null) await cycle();
    expect(await third?.ended(), third?.stderr).toBe(69);
    expect(third?.stderr.trim().split('\n').at(-1)).toMatch(
      /lockd stops: at index 1024 .* keep its data for inspection/,
    );
    for (let more = 0; more < 10; more += 1) await cycle();
    expect(tokens.toSorted((a, b) => a - b)).toEqual(tokens);
    const again = start(argumentsFor(3, trio, directory));
    while (again.child.exitCode === null) await cycle();
    expect(again.child.exitCode, again.stderr).toBe(69);
    await client.close();
    for (const place of trio.slice(0, 2)) await until(async () => (await answers(place.client, '/ready')) === 200);
  });
});
