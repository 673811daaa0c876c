import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScriptedCore, heartbeat, sent } from './support/scripted-core.ts';

describe('a late event loop', () => {
  it('deposes no leader: the timer fires before the heartbeats that arrived meanwhile are read', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.now += 60_000;
    core.step({ type: 'deadline' });
    expect(core.status).toMatchObject({ role: 'follower', leader: 2 });
    core.receive(2, heartbeat(1));
    core.now += 60_000;
    core.step({ type: 'deadline' });
    expect(core.status).toMatchObject({ role: 'follower', leader: 2 });
  });

  it('makes no leader step down before it has read the answers', () => {
    const core = new ScriptedCore();
    core.lead();
    core.now += 60_000;
    core.step({ type: 'deadline' });
    expect(core.status.role).toBe('leader');
  });

  it('still notices a leader that is silent, step by step', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    let steps = 0;
    for (; steps < 100 && core.status.role === 'follower'; steps += 1) {
      core.now += 5_000;
      core.step({ type: 'deadline' });
    }
    // Each counts as one heartbeat interval of an election timeout of 10 to 20.
    expect(steps).toBeGreaterThanOrEqual(10);
    expect(steps).toBeLessThanOrEqual(21);
  });
});

describe('the deadline', () => {
  it('is at most a heartbeat interval away, and never makes time stand still', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.boolean(), (start, leads) => {
        const core = new ScriptedCore({ servers: leads ? 1 : 3 });
        core.now = start;
        core.step();
        const end = start + 3_000;
        let steps = 0;
        while (core.now < end) {
          expect(core.core.deadline - core.now).toBeLessThanOrEqual(100.001);
          core.now = core.core.deadline;
          core.step({ type: 'deadline' });
          if (leads) core.durable();
          steps += 1;
          expect(steps).toBeLessThan(200);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('refuses a clock that goes back', () => {
    const core = new ScriptedCore();
    core.now = 50;
    core.step();
    core.now = 49;
    expect(() => core.step()).toThrow(/time-never-goes-back/);
  });
});

describe('the check of the quorum', () => {
  it('makes a leader that hears nobody step down after an election timeout, and no sooner', () => {
    const core = new ScriptedCore();
    core.lead();
    core.elapse(950);
    expect(core.status.role).toBe('leader');
    // New leaders give their peers the benefit of the first interval.
    core.elapse(1_200);
    expect(core.status).toMatchObject({ role: 'follower', leader: 0, quorumLost: true });
    core.receive(2, heartbeat(core.status.term + 1));
    expect(core.status).toMatchObject({ leader: 2, quorumLost: false });
  });

  it('lets a leader stay that hears a majority, heartbeats or not of the rest', () => {
    const core = new ScriptedCore();
    core.lead();
    for (let count = 0; count < 100; count += 1) {
      const beats = core.elapse(100);
      for (const { to, round } of sent(beats, 'heartbeat')) {
        if (to === 2)
          core.receive(2, { type: 'heartbeat-response', term: core.status.term, round, eagerCommit: false });
      }
    }
    expect(core.status.role).toBe('leader');
  });
});
