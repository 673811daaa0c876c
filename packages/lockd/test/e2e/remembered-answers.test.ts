import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_REMEMBERED_REPLIES, type ClientMessage } from '@holdfast/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPORT_MEMORY, bytesInUse } from './in-use.ts';
import { LockdProcess, until } from './lockd-process.ts';
import { answers, argumentsFor, places, type Place } from './places.ts';
import { ProtocolClient, request } from './protocol-client.ts';

const MIB = 1024 * 1024;
const SESSIONS = 40;
const REQUESTS_PER_FRAME = 512;
/** Nowhere; an error could quote all of it. */
const LONG = `/${'€'.repeat(1_004)}`;
const SMALL_HEAP = ['--max-old-space-size=512'];

let directory: string;
let place: Place[];
let server: LockdProcess;

async function start(): Promise<void> {
  server = new LockdProcess(argumentsFor(1, place, directory), {}, [...SMALL_HEAP, ...REPORT_MEMORY]);
  await server.serves();
  await until(async () => server.child.exitCode !== null || (await answers(port(), '/ready')) === 200);
  expect(server.child.exitCode, server.stderr).toBeNull();
}

const port = (): number => place[0]?.client ?? 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-answers-'));
  place = await places(1);
  await start();
});

afterAll(async () => {
  server?.kill('SIGKILL');
  await server?.ended();
  rmSync(directory, { recursive: true, force: true });
});

/** Asks until it is refused, or has asked as often as a session may, and acknowledges nothing. */
async function fill(): Promise<void> {
  const client = await ProtocolClient.open(port(), { session: true });
  const isRefused = (): boolean => client.heard.some(({ type }) => type === 'resend');
  for (let first = 1; first <= MAX_REMEMBERED_REPLIES && !isRefused(); first += REQUESTS_PER_FRAME) {
    const frame = Array.from({ length: REQUESTS_PER_FRAME }, (_, n): ClientMessage =>
      request(first + n, { type: 'delete', path: LONG, version: -1 }),
    );
    const last = first + REQUESTS_PER_FRAME - 1;
    client.send(frame);
    await until(() => isRefused() || client.heard.some((said) => said.type === 'reply' && said.number === last));
  }
  client.destroy();
}

describe('forty sessions that acknowledge no answer', () => {
  it('take no more than their share of a small heap, and the same after the server was killed', async () => {
    const before = await bytesInUse(server);
    for (let session = 0; session < SESSIONS; session += 1) await fill();
    expect((await bytesInUse(server)) - before).toBeLessThan(150 * MIB);
    server.kill('SIGKILL');
    await server.ended();
    await start();
    expect((await bytesInUse(server)) - before).toBeLessThan(150 * MIB);
    // Others are served as before.
    const other = await ProtocolClient.open(port(), { session: true });
    other.send([request(1, { type: 'acquire', lock: 'l', kind: 0, wait: true })]);
    await until(() => other.heard.some(({ type }) => type === 'reply'));
    other.destroy();
  }, 120_000);
});
