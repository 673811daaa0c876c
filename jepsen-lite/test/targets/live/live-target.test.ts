import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STORE_HOST } from '../../../src/plan/plan.ts';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import { EffectCounts } from '../../../src/targets/effects.ts';
import { openHardware } from '../../../src/targets/live/hardware/hardware.ts';
import { LiveTarget } from '../../../src/targets/live/live-target.ts';
import { loopback } from '../../../src/targets/live/network/loopback.ts';
import { CLIENT_PORT, PEER_PORT, STORE_PORT } from '../../../src/targets/live/processes/programs.ts';

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-target-'))));
afterEach(() => rmSync(directory, { recursive: true }));

describe('a live run', () => {
  it('fails by what a fault throws when its time has come, once, and begins nothing more', async () => {
    const scenario = drawLiveScenario({ seed: 1, servers: 3, durationMs: 5_000, nemeses: [] });
    const network = await loopback(['s1', 's2', 's3', STORE_HOST], [CLIENT_PORT, PEER_PORT, STORE_PORT]);
    const effects = new EffectCounts();
    const hardware = await openHardware(scenario, directory, effects);
    const target = new LiveTarget({ scenario, network, directory, hardware, effects });
    const done: string[] = [];
    target.after(1, () => {
      throw new Error('no such disk');
    });
    target.after(20, () => done.push('later'));
    expect(await target.runUntil(() => false, 1_000)).toBe(false);
    // Timers fire in the order of their times: the later one had its chance.
    await new Promise((resolve) => setTimeout(resolve, 40));
    await target.close();
    expect(target.violation?.name).toBe('no-unexpected-error');
    expect(target.violation?.message).toMatch(/^a fault: Error: no such disk/);
    expect(done).toEqual([]);
    await hardware.close();
    network.close();
  });
});
