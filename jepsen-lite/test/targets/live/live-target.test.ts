import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STORE_HOST } from '../../../src/plan/plan.ts';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import { EffectCounts } from '../../../src/targets/effects.ts';
import { HangError } from '../../../src/targets/hang.ts';
import { openHardware, type HealStep } from '../../../src/targets/live/hardware/hardware.ts';
import { LiveTarget } from '../../../src/targets/live/live-target.ts';
import { loopback } from '../../../src/targets/live/network/loopback.ts';
import { CLIENT_PORT, PEER_PORT, STORE_PORT } from '../../../src/targets/live/processes/programs.ts';

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-target-'))));
afterEach(() => rmSync(directory, { recursive: true }));

async function madeTarget(healing: readonly HealStep[] = []): Promise<{
  readonly target: LiveTarget;
  readonly close: () => Promise<void>;
}> {
  const scenario = drawLiveScenario({ seed: 1, servers: 3, clients: 1, durationMs: 5_000, nemeses: [] });
  const network = await loopback(['s1', 's2', 's3', STORE_HOST, 'c1'], [CLIENT_PORT, PEER_PORT, STORE_PORT]);
  const effects = new EffectCounts();
  const hardware = await openHardware(scenario, directory, effects);
  const struck = healing.length === 0 ? hardware : { ...hardware, healing };
  const target = new LiveTarget({ scenario, network, directory, hardware: struck, effects, healStepMs: 20 });
  const close = async (): Promise<void> => {
    await target.close();
    await hardware.close();
    network.close();
  };
  return { target, close };
}

describe('a live run', () => {
  it('ends healing by the first step that hangs, and can be closed then', async () => {
    const never = { what: 'healing the disk of s2', act: () => new Promise<void>(() => undefined) };
    const { target, close } = await madeTarget([{ what: 'setting the clocks right', act: () => undefined }, never]);
    await expect(target.heal()).rejects.toThrow(new HangError('healing the disk of s2', 20));
    await close();
    expect(target.violation).toBeUndefined();
  });

  it('fails by what a fault throws when its time has come, once, and begins nothing more', async () => {
    const { target, close } = await madeTarget();
    const done: string[] = [];
    target.after(1, () => {
      throw new Error('no such disk');
    });
    target.after(20, () => done.push('later'));
    expect(await target.runUntil(() => false, 1_000)).toBe(false);
    // Timers fire in the order of their times: the later one had its chance.
    await new Promise((resolve) => setTimeout(resolve, 40));
    await close();
    expect(target.violation?.name).toBe('no-unexpected-error');
    expect(target.violation?.message).toMatch(/^a fault: Error: no such disk/);
    expect(done).toEqual([]);
  });
});
