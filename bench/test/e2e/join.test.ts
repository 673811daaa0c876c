import { describe, expect, it } from 'vitest';

import { JoinTrial, type JoinStep } from '../../src/own/join.ts';
import { withScratchEnsemble } from '../../src/own/scratch-ensemble.ts';

const MIB = 1024 * 1024;
/** Small settings, so that a small state is many snapshots' worth of log. */
const SERVER_ARGS = ['--snapshot-log-bytes', `${8 * MIB}`, '--snapshot-trailing-bytes', `${2 * MIB}`];

describe('sessions that acquire locks at a steady pace', () => {
  it('go on while servers take snapshots, one joins that has nothing, and one comes back that lacks as much as the state', async () => {
    const steps: JoinStep[] = [];
    await withScratchEnsemble(
      async (ensemble) => {
        const options = { stateBytes: 32 * MIB, quietMs: 500, stepLimitMs: 60_000 };
        const trial = await JoinTrial.begin(ensemble, options, (step) => steps.push(step));
        try {
          await trial.fill();
          await trial.quiet();
          await trial.snapshots();
          await trial.join();
          await trial.stopBehind();
          await trial.comeBack();
          // Everything that was created and overwritten is at the server that came by a snapshot, twice.
          expect(await trial.stateOfJoined()).toEqual({ first: 'b', last: 'b' });
        } finally {
          await trial.end();
        }
      },
      { room: 1, serverArgs: SERVER_ARGS },
    );
    const names = steps.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['nothing else', 'all servers take a snapshot', 'a server joins: starting']);
    for (const phase of ['a server joins: transfer', 'a server comes back: transfer']) expect(names).toContain(phase);
    expect(steps.every(({ acquires, worstMs }) => acquires === 0 || worstMs > 0)).toBe(true);
    const others = steps.map(({ otherCores }) => otherCores);
    expect(others.every((cores) => (cores === undefined ? process.platform !== 'linux' : cores >= 0))).toBe(true);
    expect(steps.reduce((sum, { acquires }) => sum + acquires, 0)).toBeGreaterThan(100);
  }, 240_000);
});
