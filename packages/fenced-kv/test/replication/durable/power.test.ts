import type { Disk, DiskFile } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';

import { FencedStore } from '../../../src/fenced-store.ts';
import { RefusedError } from '../../../src/refusal.ts';
import { Group } from './support/group.ts';

const IDS = ['r1', 'r2', 'r3'] as const;
const WRITERS = 4;
const LIVES = 5;

/** What clients know: of each writer the last number that was acknowledged, and the last one that was sent. */
interface Known {
  readonly acknowledged: number[];
  readonly sent: number[];
  token: number;
}

async function write(store: FencedStore, writer: number, known: Known): Promise<void> {
  for (;;) {
    const number = (known.sent[writer] ?? 0) + 1;
    known.sent[writer] = number;
    const value = new TextEncoder().encode(String(number).padEnd(200));
    await store.write('b', [{ key: `k${writer}`, value }], { token: known.token });
    known.acknowledged[writer] = number;
  }
}

function check(store: FencedStore, known: Known): string[] {
  const violations: string[] = [];
  for (let writer = 0; writer < WRITERS; writer += 1) {
    const [least, most] = [known.acknowledged[writer] ?? 0, known.sent[writer] ?? 0];
    const number = numberOf(store, `k${writer}`);
    if (number < least || number > most)
      violations.push(`k${writer} is ${number}, acknowledged ${least}, sent ${most}`);
  }
  return violations;
}

function numberOf(store: FencedStore, key: string): number {
  try {
    return Number(new TextDecoder().decode(store.get('b', key).value));
  } catch (error) {
    if (error instanceof RefusedError) return 0;
    throw error;
  }
}

/** Several lives of one group, each ended by a power failure of all in the middle of writing. Returns what went wrong. */
async function live(seed: number, change?: (disk: Disk) => Disk): Promise<string[]> {
  const group = new Group({ seed, limits: { maxLogEntries: 30 }, ...(change === undefined ? {} : { change }) });
  const { world } = group;
  const draw = world.random('lives');
  const known: Known = { acknowledged: [], sent: [], token: 0 };
  const violations: string[] = [];
  try {
    for (let life = 0; life < LIVES; life += 1) {
      await group.start();
      const { inSync } = group.configuration;
      const primary = inSync[draw.integer(inSync.length)] ?? 'r1';
      const elected = group.elect(primary);
      await group.until(() => group.configuration.primary === primary);
      for (const id of IDS) if (id !== primary) group.connect(primary, id);
      const store = await world.complete(FencedStore.open(await world.complete(elected)), { maxMs: 60_000 });
      violations.push(...check(store, known));
      known.token += 1;
      for (let writer = 0; writer < WRITERS; writer += 1) write(store, writer, known).catch(() => {});
      await world.run({ forMs: 20 + draw.next() * 200 });
      // Now and then a replica is left behind before.
      const victim = IDS.find((id) => id !== primary && draw.integer(3) === 0);
      if (victim !== undefined) {
        group.cut(victim, true);
        group.suspect(primary, victim);
        await world.run({ forMs: 20 + draw.next() * 200 });
      }
      for (const id of IDS) group.crash(id, (['none', 'all', 'random'] as const)[draw.integer(3)] ?? 'random');
    }
  } catch (error) {
    violations.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const acknowledged = known.acknowledged.reduce((sum, each) => sum + each, 0);
  if (violations.length === 0 && acknowledged < 20) violations.push(`hardly anything was written: ${acknowledged}`);
  return violations;
}

async function liveWith(seeds: number, change?: (disk: Disk) => Disk): Promise<string[]> {
  const violations: string[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const violation of await live(seed, change)) violations.push(`seed ${seed}: ${violation}`);
  }
  return violations;
}

describe('a group whose power fails again and again', () => {
  it('keeps every acknowledged write, and takes up none that was not sent', async () => {
    expect(await liveWith(12)).toEqual([]);
  });

  it('would lose some without the sync of a commit', async () => {
    const violations = await liveWith(6, (disk) => ({
      ...disk,
      async open(path, mode) {
        const file = await disk.open(path, mode);
        const unsynced: DiskFile = {
          path,
          append: async (position, buffers) => await file.write(position, Buffer.concat(buffers)),
          write: async (position, bytes) => await file.write(position, bytes),
          sync: async () => await file.sync(),
          read: async (position, length) => await file.read(position, length),
          truncate: async (length) => await file.truncate(length),
          size: async () => await file.size(),
          close: async () => await file.close(),
        };
        return unsynced;
      },
    }));
    expect(violations).not.toEqual([]);
  });
});
