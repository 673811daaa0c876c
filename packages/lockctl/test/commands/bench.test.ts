import { beforeEach, describe, expect, it, vi } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

const WORKS = ['lock', 'hand-over', 'write', 'read'];

let outside: FakeEnvironment;
let client: FakeClient;

beforeEach(() => {
  outside = new FakeEnvironment();
  outside.tickMs = 2;
  client = new FakeClient();
  outside.client = client;
});

/** Lets each kind of work go on for a while before its time is over. */
async function endEach(works = WORKS.length): Promise<void> {
  for (let work = 0; work < works; work += 1) {
    await vi.waitFor(() => expect(outside.timers.size).toBeGreaterThan(0));
    await new Promise((resolve) => setImmediate(resolve));
    const due = [...outside.timers.keys()];
    outside.timers.clear();
    for (const callback of due) callback();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What does not end by itself gives others a turn. */
function inTurns<T>(answer: () => Promise<T>): () => Promise<T> {
  return async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return await answer();
  };
}

function slowly(): void {
  const { attempt, nodes } = client;
  client.attempt = (signal) => inTurns(() => attempt(signal))();
  Object.assign(nodes, {
    set: inTurns(() => Promise.resolve()),
    get: inTurns(() => Promise.resolve()),
  });
}

describe('bench', () => {
  it('prints what was done of each work, by so many sessions, and removes what it made', async () => {
    slowly();
    const running = runLockctl(['bench', '--clients', '3', '--time', '2s'], outside);
    await endEach();
    expect(await running).toBe(0);
    for (const work of WORKS) expect(outside.output).toMatch(new RegExp(`^${work} +[1-9]\\d* +\\d+\\.00 +\\d`, 'm'));
    expect(outside.output).toContain('By 3 clients');
    expect(client.closed).toBe(3);
    const locks = new Set(client.calls.flatMap(([call, name]) => (call === 'acquire' ? [String(name)] : [])));
    expect(locks.size).toBe(4);
    const [created] = client.calls.find(([call]) => call === 'create')?.slice(1) ?? [];
    expect(client.calls.at(-1)?.slice(0, 2)).toEqual(['delete', created]);
    expect(outside.listeners).toBe(0);
  });

  it('is one document with --json', async () => {
    slowly();
    const running = runLockctl(['--json', 'bench', '--clients', '1'], outside);
    await endEach();
    expect(await running).toBe(0);
    const { clients, rows } = JSON.parse(outside.output) as { clients: number; rows: { work: string; done: number }[] };
    expect(clients).toBe(1);
    expect(rows.map(({ work }) => work)).toEqual(WORKS);
    expect(rows.every(({ done }) => done > 0)).toBe(true);
  });

  it('fails with the first reason where nothing of a work is done, and has counted', async () => {
    slowly();
    client.attempt = inTurns(() => Promise.reject(new CodedError('NO_LEADER', 'nobody leads')));
    const running = runLockctl(['bench', '--clients', '1'], outside);
    await endEach();
    expect(await running).toBe(1);
    expect(outside.output).toMatch(/^lock +0 +0\.00 +0\.00 +0\.00 +1 /m);
    expect(outside.errors).toContain('not one lock was done: nobody leads');
    expect(client.calls.at(-1)?.[0]).toBe('delete');
  });

  it('ends when it is interrupted, with what it has', async () => {
    slowly();
    const running = runLockctl(['bench', '--clients', '1'], outside);
    await endEach(1);
    await vi.waitFor(() => expect(outside.timers.size).toBeGreaterThan(0));
    await new Promise((resolve) => setTimeout(resolve, 5));
    outside.send('SIGINT');
    expect(await running).toBe(0);
    expect(outside.output).toMatch(/^hand-over /m);
    expect(outside.output).not.toMatch(/^write /m);
    expect(outside.timers.size).toBe(0);
  });

  it.each([
    [['bench', '--clients', '0'], 'from 1 to 256'],
    [['bench', '--clients', '1000'], 'from 1 to 256'],
    [['bench', '--time', '2h'], 'from 1ms to 60s'],
    [['bench', '--time', '0'], 'from 1ms to 60s'],
  ])('refuses %j', async (args, problem) => {
    expect(await runLockctl(args, outside)).toBe(2);
    expect(outside.errors).toContain(problem);
    expect(client.calls).toEqual([]);
  });
});
