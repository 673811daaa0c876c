import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import { Volumes } from '../../../src/targets/live/disks/volumes.ts';
import { runLive } from '../../../src/targets/live/run.ts';
import { StillnessWatch } from '../../../src/targets/live/stillness/stillness-watch.ts';

const probe = await Volumes.open();
const lack = probe.lacks.get('hang');
await probe.close();

const DISKS = `holdfast-volumes-${process.pid}-`;
const HEAL_STEP_MS = 4_000;

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-hangs-'))));
afterEach(() => rmSync(directory, { recursive: true }));

/** The processes that freeze and thaw the disks of this harness; those that hold a freeze now have the disk open. */
function guards({ freezing = false } = {}): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [program = '', , , mount = ''] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (!program.endsWith('perl') || !mount.includes(DISKS)) return [];
      const open = freezing ? readdirSync(`/proc/${name}/fd`).map((fd) => readlinkSync(`/proc/${name}/fd/${fd}`)) : [];
      return !freezing || open.includes(mount) ? [Number(name)] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

describe.skipIf(lack !== undefined)('a harness that waits for a disk which only it would thaw', () => {
  it('goes on when somebody else has thawed it, and is told for how long it stood still', async () => {
    const volumes = await Volumes.open();
    const volume = await volumes.create('s1');
    mkdirSync(volume.path);
    const stood: number[] = [];
    const watch = new StillnessWatch(tmpdir(), { stood: (seconds) => stood.push(seconds), limitSeconds: 3 });
    watch.enter('writing to a disk');
    await volume.hang(600_000, process.pid);
    // Until it is thawed nothing in this thread happens.
    writeFileSync(join(volume.path, 'file'), 'written');
    await expect.poll(() => stood.length).toBe(1);
    expect(stood[0]).toBeGreaterThanOrEqual(3);
    await watch.close();
    await expect(volumes.close()).rejects.toThrow('cannot thaw');
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(DISKS);
  });
});

describe.skipIf(lack !== undefined)(
  `a live run in which a fault never ends${lack === undefined ? '' : ` (${lack})`}`,
  () => {
    it('ends as invalid, says which fault hangs, and leaves nothing behind', async () => {
      const scenario = drawLiveScenario({ seed: 4, servers: 3, clients: 1, durationMs: 5_000, nemeses: ['hung-disk'] });
      // Whoever has frozen a disk never thaws it.
      const stop = setInterval(() => {
        for (const pid of guards({ freezing: true })) process.kill(pid, 'SIGSTOP');
      }, 20);
      const told: unknown[] = [];
      const { failure, struck } = await runLive(scenario, {
        directory,
        loopback: true,
        healStepMs: HEAL_STEP_MS,
        failed: (violation) => told.push(violation),
        recorded: (history) => told.push(history.length > 0),
      });
      clearInterval(stop);
      expect(struck.get('sync-stalled')).toBeUndefined();
      expect(told).toEqual([failure, true]);
      // It may have been stopped before it could say that it has frozen the disk.
      expect(['healing-ends', 'every-fault-ends']).toContain(failure?.name);
      expect(failure?.message).toMatch(/healing the disk of s\d has not ended|the beginning of hung-disk of s\d/);
      expect(guards()).toEqual([]);
      expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(DISKS);
      expect(execFileSync('losetup', ['--list', '--output', 'BACK-FILE'], { encoding: 'utf8' })).not.toContain(DISKS);
      expect(readdirSync(tmpdir()).filter((name) => name.startsWith(DISKS))).toEqual([]);
      // Servers, store and clients name it on their command lines.
      const left = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n');
      expect(left.filter((line) => line.includes(directory))).toEqual([]);
    });
  },
);
