import { CommandType, NO_FEATURES } from '@holdfast/protocol';
import { PEER_FEATURES, PeerFeature, EntryType } from '@holdfast/raft';
import { LATEST_STATE_VERSION, decodeEntryHeader } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { FOUNDING_CHECK_MS, FOUNDING_MS, STATE_UPGRADE_CHECK_MS, STATE_UPGRADE_CHECKS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

const WAIT_MS = STATE_UPGRADE_CHECK_MS * STATE_UPGRADE_CHECKS;
const { stateVersion2, stateVersion3, stateVersion4, stateVersion5 } = PeerFeature;
const LATEST = Array.from({ length: 3 }, () => LATEST_STATE_VERSION);
const OF_THE_FIRST_VERSION = PEER_FEATURES - stateVersion2 - stateVersion3 - stateVersion4 - stateVersion5;

function led(count = 3): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(count);
  ensemble.elect(1);
  return ensemble;
}

function versions({ servers }: LoopbackEnsemble): number[] {
  return servers.map(({ machine }) => machine.state.version);
}

function raises({ log }: LoopbackEnsemble): number {
  const commands = log.filter(({ type }) => type === EntryType.command);
  return commands.filter(({ data }) => decodeEntryHeader(data).command === CommandType.raiseStateVersion).length;
}

describe('the state version of an ensemble', () => {
  it('is raised once, on all servers, when every member has offered the latest for a while', () => {
    const ensemble = led();
    ensemble.clock.advance(WAIT_MS - 1);
    expect(versions(ensemble)).toEqual([1, 1, 1]);
    ensemble.clock.advance(1);
    expect(versions(ensemble)).toEqual(LATEST);
    expect(raises(ensemble)).toBe(1);
  });

  it('comes to the highest that all members know by one entry, and later to the latest by another', () => {
    const ensemble = led();
    ensemble.server(3).features = PEER_FEATURES - stateVersion4 - stateVersion5;
    ensemble.clock.advance(2 * WAIT_MS);
    expect(versions(ensemble)).toEqual([3, 3, 3]);
    expect(raises(ensemble)).toBe(1);
    ensemble.server(3).features = PEER_FEATURES;
    ensemble.clock.advance(2 * WAIT_MS);
    expect(versions(ensemble)).toEqual(LATEST);
    expect(raises(ensemble)).toBe(2);
  });

  it('waits as long again when all know a later one before it is raised', () => {
    const ensemble = led();
    ensemble.server(3).features = PEER_FEATURES - stateVersion5;
    ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
    ensemble.server(3).features = PEER_FEATURES;
    ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
    expect(raises(ensemble)).toBe(0);
    ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
    expect(versions(ensemble)).toEqual(LATEST);
    expect(raises(ensemble)).toBe(1);
  });

  it('is raised sooner where its servers are told to', () => {
    const ensemble = new LoopbackEnsemble(3, { stateUpgradeChecks: 2 });
    ensemble.elect(1);
    ensemble.clock.advance(2 * STATE_UPGRADE_CHECK_MS - 1);
    expect(versions(ensemble)).toEqual([1, 1, 1]);
    ensemble.clock.advance(1);
    expect(versions(ensemble)).toEqual(LATEST);
  });

  it('is raised in an ensemble of one', () => {
    const ensemble = led(1);
    ensemble.clock.advance(WAIT_MS);
    expect(versions(ensemble)).toEqual([LATEST_STATE_VERSION]);
  });

  it.each([
    ['is of the version before', { features: OF_THE_FIRST_VERSION }],
    ['has not been heard', { features: NO_FEATURES }],
    ['is not connected', { connected: false }],
  ])('stays while a member %s, and is raised when that has ended for as long', (_, lacking) => {
    const ensemble = led();
    Object.assign(ensemble.server(3), lacking);
    ensemble.clock.advance(5 * WAIT_MS);
    expect(raises(ensemble)).toBe(0);
    Object.assign(ensemble.server(3), { features: PEER_FEATURES, connected: true });
    ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
    expect(raises(ensemble)).toBe(0);
    ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
    expect(versions(ensemble)).toEqual(LATEST);
  });

  it('waits as long again when the upgrade of a member is taken back', () => {
    const ensemble = led();
    ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
    ensemble.server(2).features = OF_THE_FIRST_VERSION;
    ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
    ensemble.server(2).features = PEER_FEATURES;
    ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
    expect(raises(ensemble)).toBe(0);
    ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
    expect(raises(ensemble)).toBe(1);
  });

  it('is raised by the leader that follows when the proposal was lost', () => {
    const ensemble = led();
    ensemble.holdCommits = true;
    ensemble.clock.advance(WAIT_MS);
    ensemble.depose();
    ensemble.holdCommits = false;
    ensemble.elect(2);
    expect(versions(ensemble)).toEqual([1, 1, 1]);
    ensemble.clock.advance(WAIT_MS);
    expect(versions(ensemble)).toEqual(LATEST);
    expect(raises(ensemble)).toBe(1);
  });

  describe('that was just founded', () => {
    function founded(): LoopbackEnsemble {
      return new LoopbackEnsemble(3, { founder: true });
    }

    it('is the latest at once: there is nothing to go back to', () => {
      const ensemble = founded();
      ensemble.elect(1);
      ensemble.clock.advance(FOUNDING_CHECK_MS);
      expect(versions(ensemble)).toEqual(LATEST);
      expect(raises(ensemble)).toBe(1);
    });

    it('is the latest when the last founder has come', () => {
      const ensemble = founded();
      ensemble.server(3).connected = false;
      ensemble.elect(1);
      ensemble.clock.advance(FOUNDING_MS / 2);
      expect(versions(ensemble)).toEqual([1, 1, 1]);
      ensemble.server(3).connected = true;
      ensemble.clock.advance(FOUNDING_CHECK_MS);
      expect(versions(ensemble)).toEqual(LATEST);
    });

    it('is raised as any other when a founder of the version before has been replaced later', () => {
      const ensemble = founded();
      ensemble.server(3).features = OF_THE_FIRST_VERSION;
      ensemble.elect(1);
      ensemble.clock.advance(FOUNDING_MS + STATE_UPGRADE_CHECK_MS);
      ensemble.server(3).features = PEER_FEATURES;
      ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
      expect(versions(ensemble)).toEqual([1, 1, 1]);
      ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
      expect(versions(ensemble)).toEqual(LATEST);
    });

    it('is raised as any other by a leader that follows the first one', () => {
      const ensemble = founded();
      ensemble.server(3).connected = false;
      ensemble.elect(1);
      ensemble.server(1).connect().attach();
      ensemble.depose();
      ensemble.elect(2);
      ensemble.server(3).connected = true;
      ensemble.clock.advance(WAIT_MS - STATE_UPGRADE_CHECK_MS);
      expect(versions(ensemble)).toEqual([1, 1, 1]);
      ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
      expect(versions(ensemble)).toEqual(LATEST);
    });
  });

  it.each([1, 3])('is never raised beyond the latest by %i, however long the entry that raises it takes', (count) => {
    const ensemble = new LoopbackEnsemble(count, { stateUpgradeChecks: 1 });
    ensemble.elect(1);
    ensemble.holdCommits = true;
    // It is proposed, and the next check is planned while it is not in force.
    ensemble.clock.advance(STATE_UPGRADE_CHECK_MS);
    ensemble.holdCommits = false;
    ensemble.server(1).connect().attach();
    expect(versions(ensemble)[0]).toBe(LATEST_STATE_VERSION);
    ensemble.clock.advance(5 * STATE_UPGRADE_CHECK_MS);
    expect(raises(ensemble)).toBe(1);
    expect(versions(ensemble)[0]).toBe(LATEST_STATE_VERSION);
  });

  it('stays while writes are refused for lack of disk', () => {
    const ensemble = led();
    for (const server of ensemble.servers) server.disk.low = true;
    for (let times = 0; times < 2; times += 1) {
      for (const server of ensemble.servers) server.machine.diskGuard.checked();
      ensemble.clock.runChecks();
    }
    ensemble.clock.advance(2 * WAIT_MS);
    expect(raises(ensemble)).toBe(0);
  });
});
