import { describe, expect, it } from 'vitest';
import { Ensemble } from '../snapshots/ensemble.ts';

describe('a vote that the disk does not take', () => {
  it('is told to nobody: its server stops, and the candidate is not elected by it [vote-granted-when-persist-failed]', async () => {
    const ensemble = new Ensemble(1, {});
    await ensemble.start();
    await ensemble.run(5);
    const { leader } = ensemble;
    const others = ensemble.others(leader);
    leader.crash();
    const candidate = () => others.find(({ running }) => running.status.role === 'candidate');
    await ensemble.until(() => candidate() !== undefined);
    const stands = candidate();
    const voter = others.find((server) => server !== stands);
    if (stands === undefined || voter === undefined) throw new Error('nobody stands');
    voter.host.disk.failNext('append', 'IO', { pathIncludes: '.wal' });
    await ensemble.until(() => voter.machine.error !== undefined);
    expect(voter.machine.error).toMatchObject({ name: 'DiskError', code: 'IO' });
    await ensemble.world.run({ forMs: 30_000 });
    expect(stands.running.status.role).not.toBe('leader');
    // It was the vote that was missing: with one that is on disk there is a leader.
    voter.crash();
    await ensemble.restart(voter);
    await ensemble.until(() => others.some(({ running }) => running.status.role === 'leader'));
  });
});
