import { describe, expect, it } from 'vitest';

import { CommandType, encodeCommand } from '@holdfast/protocol';
import { encodeEntry, STATE_LIMITS, stampEntry, type Output } from '@holdfast/state';

import { copyOf } from '../support/snapshots.ts';
import { acquireCommand, codeOf, only, SERVER, Solo, type SoloSession } from '../support/solo.ts';

const LIMITS = { maxNodesPerEnd: 3 };

/** What the leader proposes while a session is ending. */
function continueEnd(solo: Solo, session: number): readonly Output[] {
  const header = { command: CommandType.continueEnd, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  return solo.apply(encodeEntry(header, encodeCommand({ type: 'continueEnd', session })));
}

/** A session with so many ephemeral nodes, `/n0` on. */
function owner(solo: Solo, count: number): SoloSession {
  const session = solo.open();
  for (let n = 0; n < count; n += 1) {
    session.made(`/n${n}`, { ephemeral: true });
    session.ackedUpTo = session.number;
  }
  return session;
}

function left(solo: Solo): readonly string[] {
  return solo.ask({ type: 'children', path: '/' }).names.filter((name) => name !== 'holdfast');
}

describe('a session with more nodes than one entry removes', () => {
  it('expires over several entries, its oldest nodes first, and has ended with the last', () => {
    const solo = new Solo(LIMITS);
    const { id } = owner(solo, 8);
    expect(solo.expire(id)).toEqual([{ type: 'sessionEnding', session: id }]);
    expect(left(solo)).toEqual(['n3', 'n4', 'n5', 'n6', 'n7']);
    expect(solo.machine.firstEnding).toBe(id);
    const continued = { type: 'endContinued', session: id };
    expect(continueEnd(solo, id)).toEqual([continued]);
    expect(left(solo)).toEqual(['n6', 'n7']);
    expect(solo.machine.session(id)).toMatchObject({ ending: true });
    expect(continueEnd(solo, id)).toEqual([continued, { type: 'sessionEnded', session: id, reason: 'expired' }]);
    expect(left(solo)).toEqual([]);
    expect(solo.machine.firstEnding).toBe(0);
    expect(solo.machine.counts.sessions).toBe(0);
  });

  it('gives its locks on at once, tells what it has lost, and gets none any more', () => {
    const solo = new Solo(LIMITS);
    const session = owner(solo, 4);
    const other = solo.open();
    const held = session.acquire('held');
    const next = other.acquire('held');
    const taken = other.acquire('taken');
    const waiting = session.acquire('taken');
    expect(solo.expire(session.id)).toEqual([
      { type: 'lost', session: session.id, lock: 'held', acquireIndex: held.acquireIndex, reason: 'expired' },
      { type: 'lost', session: session.id, lock: 'taken', acquireIndex: waiting.acquireIndex, reason: 'expired' },
      { type: 'sessionEnding', session: session.id },
      { type: 'granted', session: other.id, lock: 'held', acquireIndex: next.acquireIndex, token: solo.index },
    ]);
    other.release(taken);
    expect(solo.queue('taken')).toEqual([]);
  });

  it('is over for good: nothing is asked through it, it is not attached again, and nothing lets it live on', () => {
    const solo = new Solo(LIMITS);
    const session = owner(solo, 5);
    solo.expire(session.id);
    expect(only(session.submit(acquireCommand('a')), 'refused')).toMatchObject({ code: 'OVERLOADED', lastApplied: 5 });
    for (const id of [0, session.id])
      expect(codeOf(solo.attach({ secret: session.secret, session: id }))).toBe('OVERLOADED');
    expect(solo.expire(session.id)).toEqual([]);
    expect(solo.open().close(session.id)).toEqual({ type: 'done' });
    expect(left(solo)).toEqual(['n3', 'n4']);
    continueEnd(solo, session.id);
    expect(codeOf(solo.attach({ secret: session.secret, session: session.id }))).toBe('SESSION_EXPIRED');
  });

  it('that closes itself is answered when nothing is left', () => {
    const solo = new Solo(LIMITS);
    const session = owner(solo, 4);
    expect(session.submit({ type: 'closeSession', session: 0 })).toEqual([
      { type: 'sessionEnding', session: session.id },
    ]);
    // Asked again over a change of leader: the answer is still to come.
    expect(solo.apply(session.entry({ type: 'closeSession', session: 0 }, session.number))).toEqual([]);
    expect(continueEnd(solo, session.id)).toEqual([
      { type: 'endContinued', session: session.id },
      { type: 'reply', session: session.id, generation: 1, number: session.number, reply: { type: 'done' } },
      { type: 'sessionEnded', session: session.id, reason: 'closed' },
    ]);
  });

  it('ends in the next entry when others have deleted the rest, and a session with fewer in one', () => {
    const solo = new Solo(LIMITS);
    const session = owner(solo, 4);
    const other = solo.open();
    expect(other.close(session.id)).toEqual({ type: 'done' });
    other.delete('/n3');
    const continued = { type: 'endContinued', session: session.id };
    const ended = { type: 'sessionEnded', session: session.id, reason: 'revoked' };
    expect(continueEnd(solo, session.id)).toEqual([continued, ended]);
    expect(continueEnd(solo, session.id)).toEqual([continued]);
    const small = owner(solo, 3);
    expect(solo.expire(small.id)).toEqual([{ type: 'sessionEnded', session: small.id, reason: 'expired' }]);
  });

  it('goes on ending where a snapshot is restored', () => {
    const solo = new Solo(LIMITS);
    const session = owner(solo, 8);
    session.submit({ type: 'closeSession', session: 0 });
    const copy = copyOf(solo.machine, LIMITS);
    expect(copy.firstEnding).toBe(session.id);
    const header = { command: CommandType.continueEnd, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
    for (let rounds = 0; rounds < 2; rounds += 1) {
      const entry = encodeEntry(header, encodeCommand({ type: 'continueEnd', session: session.id }));
      stampEntry(entry, solo.wallMs, SERVER);
      expect(copy.apply(copy.appliedIndex + 1, entry)).toEqual(continueEnd(solo, session.id));
      expect(copy.digest).toBe(solo.machine.digest);
    }
    expect(copy.counts.sessions).toBe(0);
  });
});

describe('a session with as many ephemeral nodes as it may have', () => {
  it('ends over entries of which each takes a small part of what all take', { timeout: 120_000 }, () => {
    const solo = new Solo();
    const session = owner(solo, STATE_LIMITS.maxEphemeralsPerSession);
    expect(codeOf(session.create('/more', { ephemeral: true }))).toBe('LIMIT_EXCEEDED');
    const times: number[] = [];
    const timed = (work: () => readonly Output[]): readonly Output[] => {
      const from = process.cpuUsage();
      const outputs = work();
      const { user, system } = process.cpuUsage(from);
      times.push((user + system) / 1_000);
      return outputs;
    };
    let outputs = timed(() => solo.expire(session.id));
    while (outputs.at(-1)?.type !== 'sessionEnded') outputs = timed(() => continueEnd(solo, session.id));
    expect(times).toHaveLength(STATE_LIMITS.maxEphemeralsPerSession / STATE_LIMITS.maxNodesPerEnd);
    const all = times.reduce((sum, each) => sum + each, 0);
    const middle = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
    expect(middle).toBeLessThan(all / 50);
    expect(left(solo)).toEqual([]);
  });
});
