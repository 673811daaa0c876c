/** The log has what clients wrote, and their sessions: no other user of the machine may read it. */

import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@holdfast/client';
import { afterEach, beforeEach, expect, describe, it } from 'vitest';
import { LockdProcess, until } from '../support/lockd-process.ts';
import { answers, argumentsFor, CLUSTER_ID, dataOf, onePlace } from '../support/places.ts';

let directory: string;
const processes: LockdProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-private-'));
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.splice(0).map((each) => each.ended()));
  rmSync(directory, { recursive: true, force: true });
});

/** With the umask that takes nothing away. */
function run(args: readonly string[]): LockdProcess {
  const umask = process.umask(0);
  try {
    const lockd = new LockdProcess(args);
    processes.push(lockd);
    return lockd;
  } finally {
    process.umask(umask);
  }
}

function openToOthers(path: string): string[] {
  const isDirectory = lstatSync(path).isDirectory();
  const names = isDirectory ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [];
  return [path, ...names.map((name) => join(path, name))].filter((name) => (lstatSync(name).mode & 0o077) !== 0);
}

describe('the data directory of a server that was started with umask 000', () => {
  it('has nothing for other users, neither what an operator made nor snapshots, sockets, traces and a recovery', async () => {
    const place = await onePlace();
    const data = dataOf(1, directory);
    mkdirSync(data);
    chmodSync(data, 0o755);
    const trace = join(directory, 'trace');
    const sizes = ['--snapshot-log-bytes', '1048576', '--snapshot-trailing-bytes', '0', '--trace-raft', trace];
    const args = [...argumentsFor(1, [place], directory), ...sizes];
    const server = run(args);
    await server.complains('other users could get at the data directory');
    await server.serves();
    await until(async () => (await answers(place.client, '/ready')) === 200);
    const client = await connect({ servers: [`127.0.0.1:${place.client}`], clusterId: CLUSTER_ID });
    for (let n = 0; n < 3; n += 1) await client.nodes.create(`/n${n}`, new Uint8Array(700_000));
    const log = join(data, 'group-0');
    await until(() => readdirSync(log).some((name) => name.endsWith('.snapshot')));
    expect(openToOthers(trace)).toEqual([]);
    expect(readdirSync(data).some((name) => name.endsWith('.sock'))).toBe(true);
    expect(openToOthers(data)).toEqual([]);
    await client.close();
    server.kill('SIGTERM');
    expect(await server.ended()).toBe(0);
    const recovery = run(['recover', '--data', data, '--to', join(directory, 'to'), '--accept-lost-commands']);
    expect(await recovery.ended(), recovery.stderr).toBe(0);
    expect(openToOthers(join(directory, 'to'))).toEqual([]);
    expect(openToOthers(data)).toEqual([]);
  });
});
