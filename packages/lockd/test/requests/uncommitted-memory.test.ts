/** The log of a leader that commits nothing is filled to its bound, and measured. */

import {
  DEFAULT_RAFT_LIMITS,
  LOG_START,
  NO_SERVER,
  RaftCore,
  initialConfiguration,
  logIndex,
  serverId,
  term,
  type Effect,
  type RaftEvent,
  type WriteSeq,
} from '@holdfast/raft';
import { bytesInUse } from '@holdfast/state/test/in-use';
import { describe, expect, it } from 'vitest';

const NOISE_BYTES = 1024 * 1024;
/** What an entry takes beside its command: what docs/limits.md says. */
const ENTRY_BYTES = 320;
const COMMANDS_AT_ONCE = 1_000;

/** The only voter, whose disk hangs from the moment in which it leads. */
class HangingLeader {
  readonly #core: RaftCore;
  readonly #id = serverId(1);
  #now = 0;

  constructor() {
    const initial = initialConfiguration([{ id: this.#id, peerAddress: 'host:1' }]);
    const boot = {
      hardState: { term: term(0), votedFor: NO_SERVER },
      lastIndex: logIndex(0),
      terms: [],
      base: LOG_START,
      snapshot: undefined,
      configurations: [],
    };
    const config = {
      ...DEFAULT_RAFT_LIMITS,
      diskStallMs: Infinity,
      deferredFollowerDelayMs: 0,
      seed: 1,
      id: this.#id,
      initial,
    };
    this.#core = new RaftCore(config, boot, 0);
    for (let looks = 0; !this.#leads && looks < 10; looks += 1) {
      const vote = this.#step({ type: 'deadline' }).findLast(({ type }) => type === 'persist');
      if (vote?.type === 'persist' && !this.#leads) this.#step({ type: 'persisted', seq: vote.seq as WriteSeq });
    }
    expect(this.#leads).toBe(true);
  }

  /** How many of as many commands as fit were taken. */
  fill(bytes: number): number {
    for (let taken = 0; ; taken += COMMANDS_AT_ONCE) {
      const commands = Array.from({ length: COMMANDS_AT_ONCE }, () => new Uint8Array(bytes));
      const refused = this.#step({ type: 'propose', commands }).find(({ type }) => type === 'proposals-rejected');
      if (refused?.type === 'proposals-rejected') return taken + COMMANDS_AT_ONCE - refused.commands.length;
    }
  }

  get #leads(): boolean {
    return this.#core.status.role === 'leader';
  }

  #step(event: RaftEvent): Effect[] {
    this.#now += 1_000;
    return this.#core.step([event], this.#now);
  }
}

describe('the uncommitted log of a leader', { timeout: 60_000 }, () => {
  it.each([16, 1_000, 60_000])('is bounded by its bytes, with commands of %i', (bytes) => {
    const leader = new HangingLeader();
    const before = bytesInUse();
    const taken = leader.fill(bytes);
    const used = bytesInUse() - before;
    expect(taken * bytes).toBeLessThanOrEqual(DEFAULT_RAFT_LIMITS.maxUncommittedBytes);
    expect(taken * (bytes + ENTRY_BYTES)).toBeGreaterThan(DEFAULT_RAFT_LIMITS.maxUncommittedBytes);
    expect(used).toBeLessThan(taken * (bytes + ENTRY_BYTES) + NOISE_BYTES);
    expect(leader.fill(bytes)).toBe(0);
  });
});
