import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessExit } from '@holdfast/ensemble';
import { ExitCode } from '@holdfast/lockd';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LiveServer } from '../../../src/targets/live/members/live-server.ts';
import { Machine, type Running } from '../../../src/targets/live/processes/machine.ts';

const REMOVED: ProcessExit = { code: ExitCode.removed, signal: null };

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-live-server-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function world({ joins }: { readonly joins: boolean }) {
  const failures: string[] = [];
  let starts = 0;
  let end: (exit: ProcessExit) => void = () => undefined;
  const launch = (): Running => {
    starts += 1;
    const exited = new Promise<ProcessExit>((resolve) => (end = resolve));
    const nothing = (): void => undefined;
    const kill = (): void => end({ code: null, signal: 'SIGKILL' });
    return { pid: undefined, exited, kill, terminate: nothing, pause: nothing, resume: nothing };
  };
  const logFile = join(directory, 's4.log');
  writeFileSync(logFile, '');
  const server = new LiveServer({
    id: 4,
    joins,
    logFile,
    dataDirectory: join(directory, 'data'),
    machine: (rules) =>
      new Machine({
        host: 's4',
        launch,
        serves: async () => await Promise.resolve(true),
        effect: () => undefined,
        down: () => undefined,
        failed: (name, message) => failures.push(`${name}: ${message}`),
        ...rules,
      }),
    portTaken: () => false,
    refused: () => undefined,
    changed: () => undefined,
    failed: (error) => failures.push(String(error)),
  });
  const ends = async (exit: ProcessExit): Promise<void> => {
    end(exit);
    await new Promise(setImmediate);
  };
  return { server, failures, logFile, ends, starts: () => starts };
}

describe('a server that joins', () => {
  it('is not started before it is its turn, whatever heals', async () => {
    const { server, starts } = world({ joins: true });
    await server.machine.start();
    expect(starts()).toBe(0);
    server.begin();
    await server.machine.start();
    expect({ starts: starts(), begun: server.begun }).toEqual({ starts: 1, begun: true });
  });

  it('is known by the secret that its last process has printed', async () => {
    const { server, logFile } = world({ joins: true });
    server.begin();
    await server.machine.start();
    expect(server.joinSecret).toBeUndefined();
    const printed = ['a', 'b'].map((digit) => `lockctl member add 4 x:1 --join-secret ${digit.repeat(32)}\n`);
    writeFileSync(logFile, printed.join(''));
    expect(server.joinSecret).toBe('b'.repeat(32));
  });
});

describe('a server that ends since it was removed', () => {
  it('fails the run when nobody has asked for it', async () => {
    const { server, failures, ends } = world({ joins: false });
    await server.machine.start();
    await ends(REMOVED);
    expect(failures).toEqual([`processes-end-only-by-faults: s4 ended: exit code ${ExitCode.removed}`]);
    expect(server.expelled).toBe(false);
  });

  it('is started once more, and never again when it ends again', async () => {
    const { server, failures, ends, starts } = world({ joins: false });
    await server.machine.start();
    server.removing();
    await ends(REMOVED);
    expect(server.expelled).toBe(false);
    await server.machine.start();
    await ends(REMOVED);
    await server.machine.start();
    expect({ starts: starts(), expelled: server.expelled, failures }).toEqual({
      starts: 2,
      expelled: true,
      failures: [],
    });
  });
});
