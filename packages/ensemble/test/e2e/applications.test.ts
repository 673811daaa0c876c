import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@holdfast/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';

/** Longer than the session timeout of the busy application: its sessions expire meanwhile. */
const EXPIRE_MS = 2_500;
/** Of the busy application: more than the few that need no server. */
const SOME_CALLS = 20;

let scratch: Awaited<ReturnType<typeof startScratchEnsemble>>;

beforeAll(async () => {
  scratch = await startScratchEnsemble();
});
afterAll(async () => {
  await scratch?.stop();
});

interface Application {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Resolves once it is ready. */
async function start(program: string, ...args: readonly string[]): Promise<Application> {
  const path = fileURLToPath(new URL(`fixtures/${program}`, import.meta.url));
  const child = spawn(process.execPath, ['--unhandled-rejections=strict', path, ...args], {
    env: { ...process.env, HOLDFAST_SERVERS: scratch.ensemble.clientAddresses.join(',') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.errors += text));
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  await expect.poll(() => said.output, { timeout: 30_000 }).toContain('ready\n');
  return { child, output: () => said.output, errors: () => said.errors, ended };
}

/** Resolves once some more of its calls are done: it works, and is not only there. */
async function worksOn({ child, output }: Application): Promise<void> {
  const done = (): number => {
    child.kill('SIGUSR2');
    return Number(/(\d+)\n[^\d]*$/.exec(output())?.[1] ?? 0);
  };
  let first = 0;
  await expect.poll(() => (first ||= done()), { timeout: 60_000 }).toBeGreaterThan(0);
  await expect.poll(done, { timeout: 60_000 }).toBeGreaterThan(first + SOME_CALLS);
}

describe('an application that uses all of the SDK', () => {
  it('meets no rejection that nobody handles, whatever is killed, stopped or expires', async () => {
    const { ensemble } = scratch;
    const application = await start('busy-client.mjs');
    await worksOn(application);
    const leader = await ensemble.waitForLeader();
    await ensemble.kill(leader);
    await ensemble.waitForLeader(30_000);
    ensemble.launch(leader);
    // No server at all, for longer than any session lives.
    for (const id of ensemble.servers) await ensemble.kill(id);
    await sleep(EXPIRE_MS);
    for (const id of ensemble.servers) ensemble.launch(id);
    await ensemble.waitForLeader(60_000);
    await worksOn(application);
    // Servers that keep their sockets and say nothing.
    for (const id of ensemble.servers) ensemble.pause(id);
    await sleep(EXPIRE_MS);
    for (const id of ensemble.servers) ensemble.resume(id);
    // A pause of its own.
    application.child.kill('SIGSTOP');
    await sleep(EXPIRE_MS);
    application.child.kill('SIGCONT');
    await worksOn(application);
    application.child.kill('SIGTERM');
    expect({ ...(await application.ended), errors: application.errors() }).toEqual({
      code: 0,
      signal: null,
      errors: '',
    });
    const [, done = 0, failed = 0] = /(\d+) calls were done, (\d+) failed/.exec(application.output()) ?? [];
    expect(Number(done)).toBeGreaterThan(50);
    expect(Number(failed)).toBeGreaterThan(50);
  });
});

describe('an application that is told to end', () => {
  it('gives its locks back first, and ends by the signal', async () => {
    const application = await start('told-to-end.mjs', 'kept');
    const client = await connect({ servers: scratch.ensemble.clientAddresses });
    onTestFinished(() => client.close());
    const waiting = client.lock('kept').acquire({ waitMs: 60_000 });
    await expect.poll(() => client.status().waits, { timeout: 30_000 }).toBe(1);
    application.child.kill('SIGTERM');
    // Its session would live for two minutes more.
    await (await waiting).release();
    expect(await application.ended).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

interface Believed {
  readonly token: number;
  readonly lost: boolean;
  /** Since the computation began. */
  readonly lostAfterMs?: number;
  readonly verified: boolean;
  /** By the thread that renews its session, though its client is closed. */
  readonly keptAlive: boolean;
}

/** What an application believes that holds a lock and computes for so long, with a session timeout of a second. */
async function compute(lock: string, ms: number, maxStallMs: number): Promise<Believed> {
  const application = await start('busy-loop.mjs', lock, String(ms), String(maxStallMs));
  expect(await application.ended).toEqual({ code: 0, signal: null });
  return JSON.parse(application.output().split('\n').at(-2) ?? '') as Believed;
}

describe('an application whose event loop stands still', () => {
  it('keeps its locks where a thread renews its session, and knows that it does', async () => {
    expect(await compute('kept-by-thread', 4_000, 60_000)).toMatchObject({
      lost: false,
      verified: true,
      keptAlive: false,
    });
  });

  it('loses them without, and knows it', async () => {
    expect(await compute('lost', 3_000, 0)).toMatchObject({ lost: true, verified: false });
  });

  it('loses them when it stands still for longer than it may, and others have them', async () => {
    const { clientAddresses: servers } = scratch.ensemble;
    const client = await connect({ servers });
    onTestFinished(() => client.close());
    const computing = compute('hung', 6_000, 1_500);
    await expect.poll(async () => (await client.admin.lock('hung')).holders.length, { timeout: 30_000 }).toBe(1);
    const next = client.lock('hung').acquire({ waitMs: 60_000 });
    const { token, lost, lostAfterMs, verified, keptAlive } = await computing;
    expect({ lost, verified, keptAlive }).toEqual({ lost: true, verified: false, keptAlive: false });
    // Renewed for as long as it may stand still; the session itself lives for its timeout after that.
    expect(lostAfterMs).toBeGreaterThan(1_500);
    expect((await next).token).toBeGreaterThan(token);
  });
});
