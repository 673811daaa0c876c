import {
  EMPTY_CONFIGURATION,
  EntryType,
  logIndex,
  serverId,
  term,
  type Effect,
  type Entry,
  type Message,
  type RaftEvent,
  type WriteSeq,
} from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import type { KnownConfiguration } from '../../../../src/targets/sim/invariants/configurations.ts';
import { LeadershipInvariants } from '../../../../src/targets/sim/invariants/leadership.ts';

const ELECTION_TIMEOUT_MS = 1_000;
const STEP_MS = 100;
const LIMITS = {
  heartbeatMs: STEP_MS,
  electionTimeoutMs: ELECTION_TIMEOUT_MS,
  diskStallMs: ELECTION_TIMEOUT_MS,
  maxInflightMessages: 2,
};

function voters(...sets: readonly (readonly number[])[]): KnownConfiguration {
  return { index: 0, configuration: EMPTY_CONFIGURATION, voters: sets };
}

/** Server 1, which leads term 3 of the servers 1, 2 and 3 from the first step on. */
class Scene {
  readonly broken: string[] = [];
  readonly invariants = new LeadershipInvariants(LIMITS, (name) => this.broken.push(name));
  nowMs = 0;
  configuration = voters([1, 2, 3]);
  lastIndex = 0;
  commitIndex = 0;
  durableIndex = Infinity;
  #seq = 0;

  step(events: readonly RaftEvent[] = [], effects: readonly Effect[] = []): void {
    this.invariants.stepping(1, events, this.nowMs);
    const { commitIndex, lastIndex, configuration, durableIndex } = this;
    const core = { role: 'leader', term: 3, votedFor: 1, commitIndex, lastIndex, quorumLost: false, diskStalls: false };
    this.invariants.stepped(1, effects, core, { configuration, durableIndex });
  }

  /** Lets time pass, in which these followers answer heartbeats. */
  pass(ms: number, ...heard: readonly number[]): void {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.nowMs += STEP_MS;
      this.step(
        heard.map((id) => from(id, { type: 'heartbeat-response', term: term(3), round: 1, eagerCommit: false })),
      );
    }
  }

  write(entries: readonly Entry[] = []): WriteSeq {
    this.#seq += 1;
    const seq = this.#seq as WriteSeq;
    const none = { hardState: undefined, snapshot: undefined, truncateFrom: undefined };
    this.step([], [{ type: 'persist', seq, entries, ...none }]);
    return seq;
  }

  /** A command that a follower is sent after so long, and that its answer commits. */
  commit(by: number, sentAfterMs: number): void {
    this.nowMs += 1;
    this.lastIndex += 1;
    this.step();
    this.nowMs += sentAfterMs;
    this.step();
    this.send(by, this.lastIndex);
    this.nowMs += 1;
    this.commitIndex = this.lastIndex;
    this.step([from(by, accepted(this.commitIndex)), from(5 - by, accepted(0))]);
  }

  send(to: number, index: number): void {
    const entry = { index: logIndex(index), term: term(3), type: EntryType.command, data: new Uint8Array() };
    const [prevIndex, before] = [logIndex(index - 1), term(3)];
    const append = { type: 'append', term: term(3), prevIndex, prevTerm: before, entries: [entry] } as const;
    this.invariants.sending(1, serverId(to), { ...append, commit: logIndex(this.commitIndex) });
  }
}

function from(id: number, message: Message): RaftEvent {
  return { type: 'message', from: serverId(id), message };
}

function accepted(index: number): Message {
  const refusal = { hintTerm: term(0), refusedIndex: logIndex(0), eagerCommit: false };
  return { type: 'append-response', term: term(3), accepted: true, index: logIndex(index), ...refusal };
}

describe('a leader', () => {
  it('may be without its quorum for two election timeouts, and no longer', () => {
    const scene = new Scene();
    scene.step();
    scene.pass(10 * ELECTION_TIMEOUT_MS, 2);
    scene.pass(2 * ELECTION_TIMEOUT_MS);
    expect(scene.broken).toEqual([]);
    scene.pass(STEP_MS);
    expect(scene.broken).toEqual(['a-leader-hears-a-quorum']);
  });

  it('needs both of the sets while its configuration is joint', () => {
    const scene = new Scene();
    scene.configuration = voters([1, 2, 3], [1, 4, 5]);
    scene.step();
    scene.pass(3 * ELECTION_TIMEOUT_MS, 2, 3);
    expect(scene.broken).toContain('a-leader-hears-a-quorum');
  });

  it('does not see time pass for which its process stood still', () => {
    const scene = new Scene();
    scene.step();
    scene.nowMs += 60_000;
    scene.step();
    expect(scene.broken).toEqual([]);
  });

  it('may wait for a write for twice as long as makes its disk hang, and no longer, unless it is alone', () => {
    const scene = new Scene();
    scene.step();
    const seq = scene.write();
    scene.pass(2 * ELECTION_TIMEOUT_MS, 2);
    scene.invariants.persisted(1, seq);
    scene.write();
    scene.pass(2 * ELECTION_TIMEOUT_MS, 2);
    scene.step([{ type: 'disk-worked' }]);
    scene.pass(2 * ELECTION_TIMEOUT_MS, 2);
    expect(scene.broken).toEqual([]);
    scene.configuration = voters([1]);
    scene.pass(STEP_MS, 2);
    expect(scene.broken).toEqual([]);
    scene.configuration = voters([1, 2, 3]);
    scene.pass(STEP_MS, 2);
    expect(scene.broken).toEqual(['a-leader-whose-disk-hangs-leads-no-longer']);
  });

  it('removes a voter only when it hears a majority of those that are left', () => {
    const removal = (...heard: readonly number[]): string[] => {
      const scene = new Scene();
      scene.step();
      scene.pass(2 * ELECTION_TIMEOUT_MS + STEP_MS, ...heard);
      scene.configuration = voters([1, 3], [1, 2, 3]);
      const data = new Uint8Array();
      scene.write([{ index: logIndex(1), term: term(3), type: EntryType.configuration, data }]);
      return scene.broken.filter((name) => name === 'a-silent-voter-does-not-count-for-a-removal');
    };
    expect(removal(2, 3)).toEqual([]);
    expect(removal(3)).toEqual([]);
    expect(removal(2)).toHaveLength(1);
  });

  it('may wait for a follower that it has deferred for a few commits in a row, not for dozens', () => {
    const commits = (count: number, later: (n: number) => boolean): string[] => {
      const scene = new Scene();
      scene.step();
      for (let n = 1; n <= count; n += 1) scene.commit(3, later(n) ? 10 : 0);
      return [...new Set(scene.broken)];
    };
    expect(commits(24, () => true)).toEqual([]);
    expect(commits(25, () => true)).toEqual(['commits-do-not-wait-for-a-deferred-follower']);
    expect(commits(100, (n) => n % 20 > 0)).toEqual([]);
    expect(commits(100, () => false)).toEqual([]);
  });

  it('may wait for it as long as its own write is not durable: then there is no other majority', () => {
    const scene = new Scene();
    scene.durableIndex = 0;
    scene.step();
    for (let n = 1; n <= 100; n += 1) scene.commit(3, 10);
    expect(scene.broken).toEqual([]);
  });

  it('may defer a follower as long as the window of that one is full', () => {
    const commits = (sendAtOnce: boolean): string[] => {
      const scene = new Scene();
      scene.step();
      scene.lastIndex = 2;
      scene.step();
      scene.send(3, 1);
      scene.send(3, 2);
      for (let index = 3; index <= 100; index += 1) {
        // Two are unanswered while this one comes; the older one's answer makes room for it.
        scene.lastIndex = index;
        scene.step();
        scene.nowMs += 10;
        scene.commitIndex = index - 2;
        scene.step([from(3, accepted(index - 2)), from(2, accepted(0))]);
        if (!sendAtOnce) {
          scene.nowMs += 5;
          scene.step();
        }
        scene.send(3, index);
      }
      return [...new Set(scene.broken)];
    };
    expect(commits(true)).toEqual([]);
    expect(commits(false)).toEqual(['commits-do-not-wait-for-a-deferred-follower']);
  });
});
