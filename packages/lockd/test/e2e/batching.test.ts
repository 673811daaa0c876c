import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, onePlace } from './support/places.ts';

let directory: string;
let server: LockdProcess | undefined;
const clients: Client[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-batching-'));
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  server?.kill('SIGKILL');
  await server?.ended();
  rmSync(directory, { recursive: true, force: true });
});

function metricsOf(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
}

function valueIn(text: string, name: string): number {
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`there is no ${name} in the metrics`);
  return Number(value);
}

/** As it is now: a page of metrics is told again for a second. */
async function counter(port: number, name: string): Promise<number> {
  const renderings = valueIn(await metricsOf(port), 'holdfast_metrics_renderings_total');
  let text = '';
  await until(async () => {
    text = await metricsOf(port);
    return valueIn(text, 'holdfast_metrics_renderings_total') > renderings;
  });
  return valueIn(text, name);
}

describe('the requests of clients that go on at once after every answer', () => {
  it('share their durable writes', async () => {
    const place = await onePlace();
    server = new LockdProcess(argumentsFor(1, [place], directory));
    await server.serves();
    await until(async () => (await answers(place.client, '/ready')) === 200);
    for (let n = 0; n < 12; n += 1) clients.push(await connect({ servers: [`127.0.0.1:${place.client}`] }));
    let running = true;
    const loops = clients.map(async (client, n) => {
      while (running) await (await client.lock(`own ${n}`).acquire()).release();
    });
    const complete = (): Promise<number> => counter(place.client, 'holdfast_batches_complete_total');
    try {
      await until(async () => (await complete()) >= 100);
    } finally {
      running = false;
      await Promise.all(loops);
    }
    const held = (): Promise<number> => counter(place.client, 'holdfast_proposals_batched_total');
    expect(await held()).toBeGreaterThan(await complete());
    // A client alone waits for nobody: each of its requests is a write of its own.
    const alone = async (): Promise<void> => (await clients[0]?.lock('alone').acquire())?.release();
    await alone();
    const before = await held();
    for (let cycle = 0; cycle < 20; cycle += 1) await alone();
    expect(await held()).toBe(before);
  });
});
