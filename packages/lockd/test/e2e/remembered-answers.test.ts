import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_REMEMBERED_REPLIES, MAX_SESSION_TIMEOUT_MS, type ClientMessage } from '@holdfast/protocol';
import { STATE_LIMITS } from '@holdfast/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPORT_MEMORY, bytesInUse, residentBytes } from './support/in-use.ts';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, places, type Place } from './support/places.ts';
import { ProtocolClient, request } from './support/protocol-client.ts';

const MIB = 1024 * 1024;
/** Each of them gets an answer to as many requests as a session may leave unacknowledged. */
const SESSIONS = 100;
/** Nowhere. The error quotes it, and so many of them make that nearly all that may be remembered is. */
const MIDDLING = `/${'x'.repeat(70)}`;
/** Those that come then, and whose answers are as large as answers are. */
const LATE_SESSIONS = 12;
const LONG = `/${'€'.repeat(1_004)}`;
const REQUESTS_PER_FRAME = 1_024;
/** So many sessions ask at the same time. */
const AT_ONCE = 6;
const SMALL_HEAP = '--max-old-space-size=512';
/** In MiB, with a log of 32 MiB in memory: what the answers are, and what the process takes for all of it. */
const MOST_IN_USE = 120;
const MOST_RESIDENT = 300;
/** So that a restart reads a snapshot with answers, and a log with more of them. */
const SMALL_LOG = ['--snapshot-log-bytes', `${16 * MIB}`, '--snapshot-trailing-bytes', `${MIB}`];

interface Footprint {
  readonly inUse: number;
  readonly resident: number;
}

let directory: string;
let trio: Place[];
let servers: LockdProcess[];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-answers-'));
  trio = await places(3);
  await start();
});

afterAll(async () => {
  await killAll();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<void> {
  servers = trio.map((_, n) => {
    const args = [...argumentsFor(n + 1, trio, directory), ...SMALL_LOG];
    return new LockdProcess(args, {}, [SMALL_HEAP, ...REPORT_MEMORY]);
  });
  for (const server of servers) await server.serves();
  for (const { client } of trio) await until(async () => (await answers(client, '/ready')) === 200);
}

async function killAll(): Promise<void> {
  for (const server of servers ?? []) server.kill('SIGKILL');
  await Promise.all((servers ?? []).map((server) => server.ended()));
}

/** Of each server, after a full collection. */
async function footprints(): Promise<readonly Footprint[]> {
  const all: Footprint[] = [];
  for (const server of servers) {
    const inUse = await bytesInUse(server);
    all.push({ inUse, resident: residentBytes(server) });
  }
  return all;
}

/** In MiB, of each server. */
function growth(before: readonly Footprint[], after: readonly Footprint[]): readonly Footprint[] {
  return after.map(({ inUse, resident }, n) => ({
    inUse: Math.round((inUse - (before[n]?.inUse ?? 0)) / MIB),
    resident: Math.round((resident - (before[n]?.resident ?? 0)) / MIB),
  }));
}

function expectSmall(grown: readonly Footprint[]): void {
  for (const [n, { inUse, resident }] of grown.entries()) {
    expect(inUse, `server ${n + 1}, in use`).toBeLessThan(MOST_IN_USE);
    expect(resident, `server ${n + 1}, resident`).toBeLessThan(MOST_RESIDENT);
  }
}

/** What a server says that the answers take. */
async function replyBytes(place: Place): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${place.client}/metrics`)).text();
  return Number(/^holdfast_reply_bytes(?:\{.*\})? (\S+)$/m.exec(text)?.[1] ?? 0);
}

/** Asks until it is refused, or as often as a session may, and acknowledges nothing; how often it was answered. */
async function fill(place: Place, path: string): Promise<number> {
  const client = await ProtocolClient.open(place.client, { session: true, timeoutMs: MAX_SESSION_TIMEOUT_MS });
  let answered = 0;
  let refused = false;
  client.onMessage = ({ type }) => {
    if (type === 'reply') answered += 1;
    if (type === 'resend') refused = true;
  };
  for (let first = 1; first <= MAX_REMEMBERED_REPLIES && !refused; first += REQUESTS_PER_FRAME) {
    client.send(
      Array.from({ length: REQUESTS_PER_FRAME }, (_, n): ClientMessage =>
        request(first + n, { type: 'delete', path, version: -1 }),
      ),
    );
    await until(() => refused || answered === first + REQUESTS_PER_FRAME - 1);
  }
  client.destroy();
  return answered;
}

/** How often each of so many sessions was answered. They are at all servers. */
async function fillMany(sessions: number, path: string): Promise<readonly number[]> {
  const answered: number[] = [];
  const place = (n: number): Place => trio[n % trio.length] ?? { client: 0, peer: 0 };
  for (let first = 0; first < sessions; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, sessions - first);
    answered.push(...(await Promise.all(Array.from({ length: count }, (_, n) => fill(place(first + n), path)))));
  }
  return answered;
}

describe('a hundred sessions with 2,048 answers each that they do not acknowledge', () => {
  it('take less than 300 MiB of every server, which lives with a small heap, and the same after a restart of all', async () => {
    const before = await footprints();
    expect(new Set(await fillMany(SESSIONS, MIDDLING))).toEqual(new Set([MAX_REMEMBERED_REPLIES]));
    await fillMany(LATE_SESSIONS, LONG);
    for (const place of trio) {
      await until(async () => (await replyBytes(place)) > 0.85 * STATE_LIMITS.maxReplyBytes);
    }
    expectSmall(growth(before, await footprints()));
    await killAll();
    await start();
    for (const place of trio) {
      await until(async () => (await replyBytes(place)) > 0.85 * STATE_LIMITS.maxReplyBytes);
    }
    expectSmall(growth(before, await footprints()));
    // Others are served as before.
    const other = await ProtocolClient.open(trio[0]?.client ?? 0, { session: true });
    other.send([request(1, { type: 'acquire', lock: 'l', kind: 0, wait: true })]);
    await until(() => other.heard.some(({ type }) => type === 'reply'));
    other.destroy();
  }, 120_000);
});
