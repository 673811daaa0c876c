import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ENTRY_OVERHEAD_BYTES,
  logIndex,
  serverId,
  term,
  type Effect,
  type Message,
  type WriteSeq,
} from '../../../src/core/index.ts';
import { MemoryLogStore } from '../../../src/log-store/contract/memory-log-store.ts';
import {
  ScriptedCore,
  accepted,
  append,
  entry,
  heartbeat,
  heartbeatResponse,
  ofType,
  refused,
  sent,
} from '../support/scripted-core.ts';

const appendsTo = (effects: readonly Effect[], peer: number) => sent(effects, 'append').filter(({ to }) => to === peer);

/** A leader of term 1 with its no-op and these commands known to be everywhere. */
function leaderInSync(commands = 3, config = {}): ScriptedCore {
  const core = new ScriptedCore({ config });
  core.leadInSync();
  for (let count = 0; count < commands; count += 1) {
    core.propose(`command ${count}`);
    core.durable();
    for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
  }
  return core;
}

/** Heartbeats for two intervals, which peer 2 answers at once. What the leader then sends. */
function beat(core: ScriptedCore, intervals = 3): Effect[] {
  const effects: Effect[] = [];
  for (let count = 0; count < intervals; count += 1) {
    const beats = core.elapse(100);
    effects.push(...beats);
    for (const { to, round } of sent(beats, 'heartbeat')) {
      if (to === 2) effects.push(...core.receive(2, heartbeatResponse(core.status.term, round)));
    }
  }
  return effects;
}

describe('a follower', () => {
  it('acknowledges and commits what an append has shown to agree, not all that it has [ack-past-verified-suffix] [follower-commits-unverified-tail]', () => {
    const core = new ScriptedCore({ log: [1, 1, 1, 1] });
    const effects = core.receive(2, append(2, [1, 1], [], 4));
    expect(sent(effects, 'append-response')).toMatchObject([{ accepted: true, index: 1 }]);
    expect(core.status.commitIndex).toBe(1);
  });

  it('acknowledges all appends of a group once, when the last write is durable', () => {
    const core = new ScriptedCore();
    const effects = core.receive(2, append(1, [0, 0], [1]), append(1, [1, 1], [1, 1]), append(1, [3, 1], [1]));
    const [write] = ofType(effects, 'persist');
    expect(write?.entries).toHaveLength(4);
    expect(sent(effects, 'append-response')).toMatchObject([{ accepted: true, index: 4, after: write?.seq }]);
  });

  it('does not acknowledge a repeated append before its first copy is durable [reply-before-flush]', () => {
    // In a term that is durable, so that nothing but the entries has to be waited for.
    const core = new ScriptedCore({ term: 1 });
    const [write] = ofType(core.receive(2, append(1, [0, 0], [1, 1])), 'persist');
    const again = core.receive(2, append(1, [0, 0], [1, 1]));
    expect(ofType(again, 'persist')).toEqual([]);
    expect(sent(again, 'append-response')).toMatchObject([{ index: 2, after: write?.seq }]);
    core.durable();
    const third = core.receive(2, append(1, [0, 0], [1, 1]));
    expect(sent(third, 'append-response')).toMatchObject([{ index: 2, after: undefined }]);
  });

  it('answers heartbeats while its disk is busy', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.durable();
    core.receive(2, append(1, [0, 0], [1, 1]));
    expect(sent(core.receive(2, heartbeat(1)), 'heartbeat-response')).toMatchObject([{ after: undefined }]);
  });

  it('removes nothing for an old append that ends before what it has', () => {
    const core = new ScriptedCore();
    core.receive(2, append(1, [0, 0], [1, 1, 1, 1]));
    const late = core.receive(2, append(1, [0, 0], [1]));
    expect(ofType(late, 'persist')).toEqual([]);
    expect(core.status.lastIndex).toBe(4);
  });

  it('replaces what conflicts, from the first conflict on', () => {
    const core = new ScriptedCore({ log: [1, 1, 1, 1] });
    const [write] = ofType(core.receive(2, append(3, [1, 1], [1, 3])), 'persist');
    expect(write).toMatchObject({ truncateFrom: 3, hardState: { term: 3, votedFor: 0 } });
    expect(write?.entries.map(({ index, term: of }) => [index, of])).toEqual([[3, 3]]);
  });

  it('writes the term of its leader with the first entries of it, which no store takes without it [entries-durable-before-term]', async () => {
    const core = new ScriptedCore({ log: [1], term: 1 });
    const writes = ofType(core.receive(2, append(5, [1, 1], [5, 5])), 'persist');
    expect(writes).toMatchObject([{ hardState: { term: 5, votedFor: 0 }, entries: [{ term: 5 }, { term: 5 }] }]);
    const store = new MemoryLogStore();
    const entries = [entry(1, 1)];
    await expect(store.write({ entries })).rejects.toThrow('beyond the hard state');
    await store.write({ hardState: { term: term(1), votedFor: serverId(2) }, entries });
  });

  it('writes only what is left of two leaders that spoke in one group, and cuts only what was written', () => {
    const core = new ScriptedCore({ log: [1] });
    const effects = core.step(
      { type: 'message', from: serverId(2), message: append(1, [1, 1], [1, 1, 1]) },
      { type: 'message', from: serverId(3), message: append(2, [2, 1], [2]) },
    );
    const [write] = ofType(effects, 'persist');
    expect(write?.truncateFrom).toBeUndefined();
    expect(write?.entries.map(({ index, term: of }) => [index, of])).toEqual([
      [2, 1],
      [3, 2],
    ]);
    expect(sent(effects, 'append-response')).toMatchObject([{ to: 3, index: 3, term: 2 }]);
  });

  it('refuses a gap and says where to try next, with the index that it refused [nack-carries-wrong-index]', () => {
    const core = new ScriptedCore({ log: [1, 1, 2, 2] });
    const effects = core.receive(2, append(4, [6, 3], [4]));
    expect(sent(effects, 'append-response')).toMatchObject([
      { accepted: false, refusedIndex: 6, index: 4, hintTerm: 2, term: 4 },
    ]);
  });

  it('teaches a deposed leader the term, and refuses no index that it could take for one of the new term [nack-term-field]', () => {
    const core = new ScriptedCore({ log: [1], term: 5 });
    const effects = core.receive(2, append(3, [8, 3], [3]), heartbeat(3));
    expect(sent(effects, 'append-response')).toMatchObject([{ accepted: false, term: 5, refusedIndex: 0 }]);
    expect(sent(effects, 'heartbeat-response')).toMatchObject([{ term: 5 }]);
    expect(core.status.leader).toBe(0);
  });
});

describe('a write that ends after its entries were cut from the log', () => {
  const write = (effects: readonly Effect[]) => ofType(effects, 'persist')[0]?.seq ?? (0 as WriteSeq);

  it('counts for none that came in their place: the next leader does not take its own entry for durable [completion-for-truncated-entries]', () => {
    const core = new ScriptedCore();
    const first = write(core.receive(2, append(1, [0, 0], [1, 1, 1, 1, 1])));
    const second = write(core.receive(3, append(2, [1, 1], [2])));
    core.step({ type: 'persisted', seq: first });
    expect(core.core.stableIndex).toBe(1);
    core.step({ type: 'persisted', seq: second });
    expect(core.core.stableIndex).toBe(2);
    core.lead();
    expect(core.status).toMatchObject({ role: 'leader', lastIndex: 3 });
    core.acknowledge(2, 3);
    expect(core.status.commitIndex).toBe(0);
    core.durable();
    expect(core.status.commitIndex).toBe(3);
  });

  it('is no write of the same entry that came back since: the disk still has to lose it and take it again [async-append-aba]', () => {
    const core = new ScriptedCore();
    const original = append(1, [1, 1], [1]);
    core.receive(2, append(1, [0, 0], [1]));
    core.durable();
    const first = write(core.receive(2, original));
    const other = write(core.receive(3, append(2, [1, 1], [2])));
    const again = core.receive(2, { ...original, term: term(3) } as Message);
    expect(write(again)).toBeGreaterThan(other);
    expect(sent(again, 'append-response')).toMatchObject([{ accepted: true, index: 2, after: write(again) }]);
    core.step({ type: 'persisted', seq: first });
    expect(core.core.stableIndex).toBe(1);
    core.step({ type: 'persisted', seq: other });
    expect(core.core.stableIndex).toBe(1);
    core.step({ type: 'persisted', seq: write(again) });
    expect(core.core.stableIndex).toBe(2);
  });
});

describe('a leader', () => {
  it('sends its appends before its own disk is done', () => {
    const core = leaderInSync();
    expect(sent(core.propose('x'), 'append').map(({ after }) => after)).toEqual([undefined, undefined]);
  });

  it('makes one message a peer of all proposals of a group, and one array for peers that are equally far', () => {
    const core = leaderInSync();
    const [first, second, ...rest] = sent(core.propose('x', 'y', 'z'), 'append');
    expect(first?.entries).toHaveLength(3);
    expect(second?.entries).toBe(first?.entries);
    expect(rest).toEqual([]);
  });

  it('keeps its own tail when it steps down [leader-truncates-own-tail-on-stepdown]', () => {
    const core = leaderInSync();
    core.propose('x', 'y');
    const { lastIndex } = core.status;
    const effects = core.receive(2, heartbeatResponse(9, 0));
    expect(core.status).toMatchObject({ role: 'follower', lastIndex });
    expect(ofType(effects, 'persist')).toMatchObject([{ truncateFrom: undefined, entries: [] }]);
  });

  it('ignores a refusal that was overtaken by an acknowledgement [stale-nack-rolls-back-committed] [late-conflict-rewinds-progress]', () => {
    const core = leaderInSync();
    expect(sent(core.receive(2, refused(1, 3, 0, 0)), 'append')).toEqual([]);
    expect(appendsTo(core.propose('x'), 2)).toMatchObject([{ prevIndex: 4 }]);
  });

  it('ignores the acknowledgements and refusals of an earlier term', () => {
    const core = new ScriptedCore({ log: [1, 1], term: 4 });
    core.lead();
    core.durable();
    core.receive(2, accepted(4, 3), refused(3, 2, 0, 0));
    core.receive(3, accepted(4, 3));
    expect(core.status).toMatchObject({ role: 'leader', commitIndex: 0 });
  });

  it('never counts an acknowledgement down', () => {
    const core = leaderInSync();
    core.propose('x');
    core.acknowledge(2, 5);
    core.acknowledge(2, 2);
    core.durable();
    expect(core.status.commitIndex).toBe(5);
    expect(appendsTo(core.propose('y'), 2)).toMatchObject([{ prevIndex: 5 }]);
  });

  it('goes back to sending without waiting once a probe is accepted', () => {
    const core = leaderInSync();
    core.propose('lost');
    expect(appendsTo(core.receive(2, refused(1, 4, 2, 1)), 2)).toHaveLength(0);
    expect(appendsTo(core.receive(2, refused(1, 5, 2, 1)), 2)).toMatchObject([{ prevIndex: 4 }]);
    expect(appendsTo(core.propose('waits'), 2)).toEqual([]);
    expect(appendsTo(core.acknowledge(2, 5), 2)).toMatchObject([{ prevIndex: 5 }]);
    expect(appendsTo(core.propose('a'), 2)).toHaveLength(1);
    expect(appendsTo(core.propose('b'), 2)).toHaveLength(1);
  });
});

describe('appends or answers that get lost while the connection stays', () => {
  it('are noticed by an empty append, which the peer refuses: it is sent what it lacks', () => {
    const core = leaderInSync();
    core.propose('lost');
    const asked = appendsTo(beat(core), 2);
    expect(asked).toMatchObject([{ prevIndex: 5, entries: [] }]);
    expect(appendsTo(core.receive(2, refused(1, 5, 4, 1)), 2)).toMatchObject([
      { prevIndex: 4, entries: [{ index: 5 }] },
    ]);
  });

  it('are noticed by an empty append, which the peer acknowledges: only its answer was lost', () => {
    const core = leaderInSync();
    core.propose('x');
    core.durable();
    expect(core.status.commitIndex).toBe(4);
    beat(core);
    core.acknowledge(2, 5);
    expect(core.status.commitIndex).toBe(5);
  });

  it('do not block a window that is full of them', () => {
    const core = leaderInSync(3, { maxInflightMessages: 2 });
    for (const command of ['a', 'b', 'c', 'd']) core.propose(command);
    expect(appendsTo(core.propose('e'), 2)).toEqual([]);
    expect(appendsTo(beat(core), 2)).toMatchObject([{ prevIndex: 6, entries: [] }]);
    const more = core.acknowledge(2, 6);
    expect(appendsTo(more, 2)).toMatchObject([{ prevIndex: 6, entries: [{ index: 7 }, { index: 8 }, { index: 9 }] }]);
  });

  it('are sent again when they were a probe [probe-stuck-after-unreachable]', () => {
    const core = new ScriptedCore();
    core.lead();
    expect(appendsTo(beat(core), 2)).toMatchObject([{ prevIndex: 0, entries: [{ index: 1 }] }]);
  });

  it('are not sent again to a peer that gives no sign of life', () => {
    const core = new ScriptedCore();
    core.lead();
    const effects: Effect[] = [];
    for (let count = 0; count < 50; count += 1) {
      const beats = core.elapse(100);
      effects.push(...beats);
      for (const { to, round } of sent(beats, 'heartbeat')) {
        if (to === 3) effects.push(...core.receive(3, heartbeatResponse(1, round)));
      }
    }
    expect(appendsTo(effects, 2)).toEqual([]);
  });

  it('are not asked about while answers come, nor at once: a disk may be slow', () => {
    const core = leaderInSync();
    for (let count = 0; count < 30; count += 1) {
      const proposed = core.propose('x');
      expect(appendsTo(beat(core, 1), 2)).toEqual([]);
      core.acknowledge(2, core.status.lastIndex);
      expect(appendsTo(proposed, 2)).toHaveLength(1);
    }
  });

  it('are forgotten with the connection: what is not acknowledged is sent on the next', () => {
    const core = leaderInSync();
    core.propose('lost');
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    expect(appendsTo(core.propose('x'), 2)).toEqual([]);
    const effects = core.step({ type: 'peer-connected', peer: serverId(2) });
    expect(appendsTo(effects, 2)).toMatchObject([{ prevIndex: 4, entries: [{ index: 5 }, { index: 6 }] }]);
  });

  it('are not asked about where there is no connection, whatever the peer answers on one of its own', () => {
    const core = leaderInSync();
    core.propose('lost');
    core.elapse(100);
    core.elapse(100);
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    const effects: Effect[] = [];
    for (let round = 0; round < 5; round += 1)
      effects.push(...core.elapse(100), ...core.receive(2, heartbeatResponse(1, 0)));
    expect(appendsTo(effects, 2)).toEqual([]);
  });

  it('are not asked about where the log before them is gone: the peer is sent a snapshot, once', () => {
    const core = leaderInSync(0, { maxInflightMessages: 1 });
    core.propose('lost');
    for (const command of ['a', 'b', 'c']) core.propose(command);
    core.durable();
    core.acknowledge(3, 2);
    core.acknowledge(3, 5);
    expect(core.status.commitIndex).toBe(5);
    core.step({ type: 'applied', index: logIndex(5) });
    core.elapse(100);
    core.elapse(100);
    const taken = core.step({
      type: 'snapshot-taken',
      position: { index: logIndex(5), term: term(1) },
      compactTo: logIndex(5),
    });
    const effects = [...taken, ...beat(core, 5)];
    expect(ofType(effects, 'send-snapshot')).toMatchObject([{ peer: 2 }]);
    expect(appendsTo(effects, 2)).toEqual([]);
  });

  it('begin on a new connection where they began on the first, when nothing was answered there', () => {
    const core = new ScriptedCore({ log: [1, 1, 1, 1] });
    expect(appendsTo(core.lead(), 2)).toMatchObject([{ prevIndex: 4, entries: [{ index: 5 }] }]);
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    const effects = core.step({ type: 'peer-connected', peer: serverId(2) });
    expect(appendsTo(effects, 2)).toMatchObject([{ prevIndex: 4, entries: [{ index: 5 }] }]);
  });
});

describe('the window of a peer', () => {
  const bytes = (size: number) => new Uint8Array(size);

  it('bounds the messages under way', () => {
    const core = leaderInSync(0, { maxInflightMessages: 3 });
    let count = 0;
    for (let round = 0; round < 10; round += 1) count += appendsTo(core.propose('x'), 2).length;
    expect(count).toBe(3);
  });

  it.each([1_000, 2 * (400 + ENTRY_OVERHEAD_BYTES)])(
    'bounds their bytes, but for the message that reaches the bound of %d',
    (maxInflightBytes) => {
      const core = leaderInSync(0, { maxInflightBytes });
      let under = 0;
      for (let round = 0; round < 10; round += 1) {
        for (const { entries } of appendsTo(core.propose(bytes(400)), 2)) under += entries.length;
      }
      expect(under).toBe(Math.ceil(maxInflightBytes / (400 + ENTRY_OVERHEAD_BYTES)));
    },
  );

  it('cuts appends at their bound, a single larger entry excepted', () => {
    const core = leaderInSync(0, { maxAppendBytes: 500 });
    const size = 250 - ENTRY_OVERHEAD_BYTES;
    const sizes = (effects: readonly Effect[]) => appendsTo(effects, 2).map(({ entries }) => entries.length);
    expect(sizes(core.propose(...Array.from({ length: 5 }, () => bytes(size))))).toEqual([2, 2, 1]);
    expect(sizes(core.propose(bytes(10_000), bytes(size)))).toEqual([1, 1]);
  });

  it('bounds appends of empty entries too', () => {
    const core = leaderInSync(0, { maxAppendBytes: 10 * ENTRY_OVERHEAD_BYTES });
    const effects = core.propose(...Array.from({ length: 25 }, () => bytes(0)));
    expect(appendsTo(effects, 2).map(({ entries }) => entries.length)).toEqual([10, 10, 5]);
  });
});

describe('a peer that lags behind the memory of its leader', () => {
  const log = Array.from({ length: 10 }, () => 1);

  it('is sent what is read from disk, chunk after chunk, and then what is in memory', () => {
    const core = new ScriptedCore({ log });
    core.lead();
    core.durable();
    const asked = ofType(core.receive(2, refused(2, 10, 0, 0)), 'read-entries');
    expect(asked).toMatchObject([{ peer: 2, term: 2, from: 1, to: 10 }]);
    const read = (from: number, to: number) =>
      core.step({
        type: 'entries-read',
        peer: serverId(2),
        term: term(2),
        entries: log.map((of, at) => entry(at + 1, of)).slice(from - 1, to),
      });
    const first = read(1, 4);
    expect(appendsTo(first, 2)).toMatchObject([{ prevIndex: 0, prevTerm: 0, entries: { length: 4 } }]);
    const second = core.acknowledge(2, 4);
    expect(ofType(second, 'read-entries')).toMatchObject([{ from: 5, to: 10 }]);
    expect(appendsTo(read(5, 10), 2)).toMatchObject([
      { prevIndex: 4, entries: { length: 6 } },
      { prevIndex: 10, prevTerm: 1, entries: [{ index: 11, term: 2 }] },
    ]);
  });

  it('is fed piece by piece with what is committed, in memory or not, while new entries go to the others at once', () => {
    const core = new ScriptedCore({ log, config: { maxAppendBytes: 300, maxCatchUpBytes: 200 } });
    core.lead();
    core.durable();
    core.propose(...Array.from({ length: 10 }, (_, n) => `command ${n}`));
    core.durable();
    core.acknowledge(3, 21);
    expect(core.status.commitIndex).toBe(21);
    const effects = core.receive(2, refused(2, 10, 10, 1));
    expect(appendsTo(effects, 2)).toEqual([]);
    expect(ofType(effects, 'read-entries')).toMatchObject([{ peer: 2, from: 10, to: 21, maxBytes: 200 }]);
    const next = core.propose('new');
    expect(appendsTo(next, 3)).toMatchObject([{ prevIndex: 21, entries: [{ index: 22 }] }]);
    expect(appendsTo(next, 2)).toEqual([]);
    expect(ofType(next, 'read-entries')).toEqual([]);
  });

  it('is urgent when the others are too few without it, and only then', () => {
    const urgent = (servers: number, others: readonly number[], silent: readonly number[] = []): boolean[] => {
      const core = new ScriptedCore({ servers, log, config: { maxAppendBytes: 300, maxCatchUpBytes: 200 } });
      core.lead();
      core.durable();
      for (const peer of others) core.acknowledge(peer, 11);
      for (let passed = 0; passed < 1_500; passed += 50) {
        core.elapse(50);
        for (const peer of core.peers) if (!silent.includes(peer)) core.receive(peer, heartbeatResponse(2, 0));
      }
      return ofType(core.receive(2, refused(2, 10, 0, 0)), 'read-entries').map((effect) => effect.urgent);
    };
    expect(urgent(3, [3])).toEqual([false]);
    expect(urgent(3, [])).toEqual([true]);
    expect(urgent(3, [3], [3])).toEqual([true]);
    expect(urgent(5, [3, 4], [5])).toEqual([false]);
    // 4 lags, too: a majority takes one of the two.
    expect(urgent(5, [3], [5])).toEqual([true]);
  });

  it('is read for once at a time, and again when what was read is of no use any more', () => {
    const core = new ScriptedCore({ log });
    core.lead();
    core.durable();
    core.receive(2, refused(2, 10, 0, 0));
    expect(ofType(core.propose('x'), 'read-entries')).toEqual([]);
    const again = core.step({ type: 'entries-read', peer: serverId(2), term: term(2), entries: [] });
    expect(sent(again, 'append')).toEqual([]);
    expect(ofType(again, 'read-entries')).toMatchObject([{ from: 1 }]);
    const old = core.step({ type: 'entries-read', peer: serverId(2), term: term(1), entries: [entry(1, 1)] });
    expect(sent(old, 'append')).toEqual([]);
  });
});

describe('the search for where two logs agree', () => {
  const terms = fc
    .array(fc.integer({ min: 0, max: 2 }), { maxLength: 30 })
    .map((steps) => steps.reduce<number[]>((log, step) => [...log, (log.at(-1) ?? 1) + step], []));

  it('skips whole terms: a probe for each at most [long-divergence-O(terms)]', () => {
    fc.assert(
      fc.property(terms, terms, (leaderLog, followerTail) => {
        // What both have agrees where index and term are equal; so a common beginning, and then other terms.
        const shared = leaderLog.slice(0, Math.floor(leaderLog.length / 2));
        const base = Math.max(shared.at(-1) ?? 0, 1);
        const follower = [...shared, ...followerTail.map((of) => base + 100 + of)];
        const leading = new ScriptedCore({ log: leaderLog, term: 200 });
        const following = new ScriptedCore({ id: 2, log: follower, term: 200 });
        let effects = leading.lead();
        leading.durable();
        let probes = 0;
        for (; ; probes += 1) {
          const read = ofType(effects, 'read-entries').filter(({ peer }) => peer === 2);
          for (const { from, to, peer } of read) {
            const entries = leaderLog.map((of, at) => entry(at + 1, of)).slice(from - 1, to);
            effects = leading.step({ type: 'entries-read', peer, term: leading.status.term, entries });
          }
          const [probe] = appendsTo(effects, 2);
          if (probe === undefined) throw new Error('no probe');
          const { to: _to, after: _after, ...message } = probe;
          const [answer] = sent(following.receive(1, message), 'append-response');
          if (answer === undefined || answer.accepted) break;
          effects = leading.receive(2, refused(answer.term, answer.refusedIndex, answer.index, answer.hintTerm));
        }
        expect(probes).toBeLessThanOrEqual(Math.min(new Set(leaderLog).size, new Set(follower).size) + 1);
      }),
      { numRuns: 300 },
    );
  });
});
