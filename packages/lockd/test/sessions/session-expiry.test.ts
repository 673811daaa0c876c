import { CommandType } from '@holdfast/protocol';
import { entryCommand } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { LoopbackEnsemble } from '../support/loopback.ts';

const TIMEOUT_MS = 2_000;

describe('a session whose expiry is decided while an attach of it is in the log', () => {
  it('lives on with its full time, and expires when that is over', () => {
    const ensemble = new LoopbackEnsemble();
    ensemble.elect(1);
    const server = ensemble.server(1);
    const expiries = (): number =>
      ensemble.log.filter(({ data }) => entryCommand(data) === CommandType.expireSession).length;
    const { session } = server.connect().attach(1, { timeoutMs: TIMEOUT_MS });
    ensemble.clock.advance(TIMEOUT_MS - 500);
    ensemble.holdCommits = true;
    server.connect().sendAttach(1, { session, timeoutMs: TIMEOUT_MS });
    ensemble.clock.advance(2 * TIMEOUT_MS);
    ensemble.holdCommits = false;
    server.schedule();
    ensemble.clock.runChecks();
    expect(expiries()).toBe(1);
    expect(server.machine.state.session(session)).toMatchObject({ generation: 2, ending: false });
    ensemble.clock.advance(TIMEOUT_MS - 500);
    expect(server.machine.state.session(session)).toBeDefined();
    ensemble.clock.advance(1_000);
    expect(server.machine.state.session(session)).toBeUndefined();
    expect(expiries()).toBe(2);
  });
});
