import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { connect } from '@holdfast/client';

import { clientAddress, fencedKvAddress, peerAddress } from '../../src/addresses.ts';
import { fetchStatus } from '../../src/server-status.ts';
import { waitUntil } from '../../src/wait-until.ts';
import {
  allEnded,
  Launcher,
  newPlace,
  SERVING,
  START_ENTRY,
  startArgs,
  type LauncherPlace,
} from '../support/launcher.ts';
import { processesOn } from '../support/scratch.ts';

const STOPPED = 'Stopped: every server has ended, and the data stays.';

async function serving(place: LauncherPlace, ...extra: string[]): Promise<Launcher> {
  const launcher = Launcher.start(place, ...extra);
  await launcher.printed(SERVING);
  return launcher;
}

async function grantToken(place: LauncherPlace): Promise<number> {
  const client = await connect({ servers: [1, 2, 3].map((id) => clientAddress(place.basePort, id)) });
  try {
    return await client.lock('demo').withLock((held) => held.token);
  } finally {
    await client.close();
  }
}

async function interrupted(launcher: Launcher): Promise<void> {
  launcher.kill('SIGINT');
  expect(await launcher.ended).toEqual({ code: 0, signal: null });
}

describe('start', () => {
  it('serves until Ctrl-C, finds its data at the next start, and leaves no process', async () => {
    const place = await newPlace();
    const first = await serving(place);
    expect((await fetch(`http://${fencedKvAddress(place.basePort)}/health`)).status).toBe(200);
    const token = await grantToken(place);
    await interrupted(first);
    expect(first.lastLine).toBe(STOPPED);
    expect(processesOn(place.data)).toEqual([]);

    const second = await serving(place);
    expect(await grantToken(place)).toBeGreaterThan(token);
    await interrupted(second);
    expect(processesOn(place.data)).toEqual([]);
  });

  it('starts the number of servers that was asked for, and refuses to start the data as another', async () => {
    const place = await newPlace(1);
    const launcher = await serving(place, '--servers', '1');
    expect(await fetchStatus(clientAddress(place.basePort, 1))).toMatchObject({ id: 1, role: 'leader' });
    await interrupted(launcher);
    const other = Launcher.start(place, '--servers', '3');
    expect((await other.ended).code).toBe(1);
    expect(other.output).toContain('start it with --servers 1');
  });

  it('deletes with --fresh what was there, says what, and nothing else', async () => {
    const place = await newPlace(1);
    await interrupted(await serving(place, '--servers', '1'));
    writeFileSync(join(place.data, 'notes.txt'), 'mine');
    const fresh = await serving(place, '--servers', '1', '--fresh');
    for (const name of ['server-1', 'fenced-kv', 'ensemble.json']) {
      expect(fresh.output).toContain(`  ${join(place.data, name)}\n`);
    }
    expect(existsSync(join(place.data, 'notes.txt'))).toBe(true);
    await interrupted(fresh);
  });

  it('refuses data that another launcher uses, and --fresh does not touch it', async () => {
    const place = await newPlace(1);
    const first = await serving(place, '--servers', '1');
    const second = Launcher.start(place, '--servers', '1', '--fresh');
    expect((await second.ended).code).toBe(1);
    expect(second.output).toContain('another ensemble runs on');
    expect(second.output).not.toContain('Deleted');
    expect(existsSync(join(place.data, 'server-1'))).toBe(true);
    await interrupted(first);
  });

  it('says which ports are in use and by whom, proposes others, and leaves no process', async () => {
    const place = await newPlace(1);
    const first = await serving(place, '--servers', '1');
    const elsewhere = { ...(await newPlace(1)), basePort: place.basePort };
    const second = Launcher.start(elsewhere, '--servers', '1');
    expect((await second.ended).code).toBe(1);
    expect(second.output).toContain(clientAddress(place.basePort, 1));
    expect(second.output).toContain('; stop what listens there (another ensemble?), or choose other ports, as ');
    // Whoever may not see another's sockets is not told.
    if (process.platform === 'linux') {
      const [server] = processesOn(join(place.data, 'server-1'));
      const [store] = processesOn(join(place.data, 'fenced-kv'));
      const { basePort } = place;
      expect(second.output).toContain(
        `${clientAddress(basePort, 1)}, ${peerAddress(basePort, 1)} are in use by process ${server} (`,
      );
      expect(second.output).toContain(`${fencedKvAddress(basePort)} is in use by process ${store} (`);
    }
    expect(processesOn(elsewhere.data)).toEqual([]);
    const [, proposed = ''] = /--base-port (\d+)/.exec(second.output) ?? [];
    const other = { ...elsewhere, basePort: Number(proposed) };
    const third = await serving(other, '--servers', '1');
    const again = Launcher.start({ ...(await newPlace(1)), basePort: other.basePort }, '--servers', '1');
    expect((await again.ended).code).toBe(1);
    await interrupted(third);
    await interrupted(first);
  });

  it('reports a server that dies, does not restart it, and goes on', async () => {
    const place = await newPlace();
    const launcher = await serving(place);
    const victim = processesOn(join(place.data, 'server-2'))[0] ?? 0;
    process.kill(victim, 'SIGKILL');
    await launcher.printed('lockd 2 has ended by itself, SIGKILL');
    expect(launcher.output).toContain('It is not restarted.');
    expect(await grantToken(place)).toBeGreaterThan(0);
    expect(processesOn(join(place.data, 'server-2'))).toEqual([]);
    await interrupted(launcher);
  });
});

describe('the children of start', () => {
  it.for(['SIGTERM', 'SIGHUP'] as const)('end in order when the launcher gets %s', async (signal) => {
    const place = await newPlace(1);
    const launcher = await serving(place, '--servers', '1');
    launcher.kill(signal);
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    expect(launcher.lastLine).toBe(STOPPED);
    expect(processesOn(place.data)).toEqual([]);
  });

  it('end when the launcher is killed', async () => {
    const place = await newPlace();
    const launcher = await serving(place);
    launcher.kill('SIGKILL');
    await launcher.ended;
    await allEnded(place.data);
  });

  it('end when the launcher is stopped while they start', async () => {
    const place = await newPlace();
    const launcher = Launcher.start(place);
    await waitUntil(() => Promise.resolve(processesOn(join(place.data, 'server-3'))[0]), 20_000);
    launcher.kill('SIGTERM');
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    await allEnded(place.data);
  });

  // npx and pnpm end by SIGTERM without passing it on; these stand-ins do the same.
  it.for(['outer', 'inner'] as const)(
    'end when the %s package runner above the launcher gets SIGTERM',
    async (which) => {
      const place = await newPlace(1);
      const inner = runner(place.data, 'pnpm', [process.execPath, START_ENTRY, ...startArgs(place, '--servers', '1')]);
      const outer = runner(place.data, 'npx', [process.execPath, inner]);
      const launcher = new Launcher(process.execPath, [outer]);
      await launcher.printed(SERVING);
      const target = which === 'outer' ? launcher.pid : (processesOn(inner).at(-1) ?? 0);
      process.kill(target, 'SIGTERM');
      await allEnded(place.data);
      await launcher.printed(STOPPED);
    },
  );

  it('end when the terminal is closed', async (context) => {
    const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
    context.skip(!script.stdout?.includes('util-linux'), 'needs script of util-linux');
    const place = await newPlace(1);
    const command = [process.execPath, START_ENTRY, ...startArgs(place, '--servers', '1')].join(' ');
    const log = join(place.data, 'terminal.txt');
    const terminal = new Launcher('script', ['-qfec', command, log], { detached: true });
    onTestFinished(() => terminal.kill('SIGKILL'));
    await terminal.printed(SERVING);
    terminal.kill('SIGKILL');
    await allEnded(place.data);
  });
});

/** A program called `name` that runs a command through a shell, as npx and pnpm do. */
function runner(directory: string, name: string, command: readonly string[]): string {
  const file = join(directory, name);
  const line = command.map((part) => `'${part}'`).join(' ');
  writeFileSync(
    file,
    `require('node:child_process').spawn('sh', ['-c', ${JSON.stringify(`true && ${line}`)}], { stdio: 'inherit' });\n`,
  );
  return file;
}
