import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, onePlace, status } from './support/places.ts';

let directory: string;
let path: string;
const servers: LockdProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-trace-'));
  path = join(directory, 'trace');
});

afterEach(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

interface Line {
  readonly format?: string;
  readonly server?: number;
  readonly step?: number;
  readonly status?: { readonly role: string; readonly commitIndex: number };
}

function read(file: string): Line[] {
  const text = readFileSync(file, 'utf8');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

describe('lockd with --trace-raft', () => {
  it('writes every step up to its end, and keeps the trace of the run before', async () => {
    const place = await onePlace();
    const start = async (): Promise<LockdProcess> => {
      const server = new LockdProcess([...argumentsFor(1, [place], directory), '--trace-raft', path]);
      servers.push(server);
      await server.serves();
      await until(async () => (await answers(place.client, '/ready')) === 200);
      return server;
    };
    const first = await start();
    // The first entry of its term, which may take its time; no other comes.
    await until(async () => (await status(place.client)).commitIndex > 0);
    const { commitIndex } = await status(place.client);
    first.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    const [header, ...steps] = read(path);
    expect(header).toMatchObject({ format: 'holdfast-raft-trace', version: 1, server: 1 });
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, position) => position + 1));
    expect(steps.at(-1)?.status).toMatchObject({ role: 'leader', commitIndex });
    const before = readFileSync(path, 'utf8');
    await start();
    expect(readFileSync(`${path}.1`, 'utf8')).toBe(before);
    // What a killed server leaves has all but its last moments.
    await until(() => read(path).some((line) => line.status?.role === 'leader'));
  });

  it('does not start without the trace that it was asked for', async () => {
    const missing = join(directory, 'missing', 'trace');
    const server = new LockdProcess([...argumentsFor(1, [await onePlace()], directory), '--trace-raft', missing]);
    servers.push(server);
    expect(await server.ended()).toBe(2);
    expect(server.stderr).toContain(`--trace-raft ${missing} cannot be written`);
  });
});
