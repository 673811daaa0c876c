import { describe, expect, it } from 'vitest';

import { MAX_REMEMBERED_REPLIES } from '@holdfast/protocol';
import { STATE_LIMITS } from '@holdfast/state';

import { bytesInUse } from '../support/in-use.ts';
import { copyOf } from '../support/snapshots.ts';
import { acquireCommand, codeOf, Solo, type SoloSession } from '../support/solo.ts';

/** A path of as many bytes as one may have, which is nowhere. */
const LONG = `/${'€'.repeat(1_004)}`;
const MIB = 1024 * 1024;

/** Asks, and acknowledges nothing, until it is refused or has asked so often; how often it was answered. */
function fill(session: SoloSession, count = MAX_REMEMBERED_REPLIES + 1): number {
  for (let asked = 0; asked < count; asked += 1) {
    session.number += 1;
    const payload = { type: 'delete', path: LONG, version: -1 } as const;
    const [output] = session.solo.apply(session.entry(payload, session.number));
    if (output?.type === 'refused') {
      expect(output.code).toBe('OVERLOADED');
      session.number -= 1;
      return asked;
    }
  }
  return count;
}

describe('an error that is remembered', () => {
  it('quotes at most 200 characters of a request', () => {
    const session = new Solo().open();
    const replies = [
      session.delete(LONG),
      session.delete(`${LONG.slice(0, 500)}/`),
      session.create(`${LONG.slice(0, 500)}/${'a'.repeat(400)}`),
      session.create(`/holdfast/locks/${'a'.repeat(900)}`),
    ];
    for (const reply of replies) {
      if (reply.type !== 'error') throw new Error(reply.type);
      expect(reply.message.length).toBeLessThan(600);
      expect(/(.{20,}?)…/u.exec(reply.message)).not.toBeNull();
    }
  });
});

describe('the answers that a session does not acknowledge', () => {
  it('are refused beyond its bound without using up a number, and go on when it acknowledges', () => {
    const session = new Solo({ maxReplyBytesPerSession: 10_000 }).open();
    const answered = fill(session);
    expect(answered).toBeLessThan(40);
    expect(session.solo.machine.replyBytes).toBeGreaterThanOrEqual(10_000);
    expect(session.solo.machine.replyBytes).toBeLessThan(11_000);
    session.ackedUpTo = session.number;
    expect(codeOf(session.delete('/none'))).toBe('NOT_FOUND');
    expect(session.solo.machine.replyBytes).toBeLessThan(500);
  });

  it('leave room to others: who keeps most is refused, who acknowledges never', () => {
    const solo = new Solo({ maxReplyBytes: 400_000 });
    const greedy = Array.from({ length: 100 }, () => solo.open());
    for (const session of greedy) fill(session);
    expect(solo.machine.replyBytes).toBeLessThan(400_000 + 100 * 3_000);
    const newcomer = solo.open();
    expect(fill(newcomer, 2)).toBe(2);
    for (let round = 0; round < 100; round += 1) {
      newcomer.ackedUpTo = newcomer.number;
      expect(codeOf(newcomer.delete(LONG))).toBe('NOT_FOUND');
    }
  });

  it('are free for others when the session ends', () => {
    const solo = new Solo();
    const session = solo.open();
    fill(session, 100);
    session.acquire('a');
    expect(solo.machine.replyBytes).toBeGreaterThan(50_000);
    solo.expire(session.id);
    expect(solo.machine.replyBytes).toBe(0);
  });

  it('count the same on a machine that was restored, whatever has become of the acquires among them', () => {
    const solo = new Solo();
    const [one, other] = [solo.open(), solo.open()];
    const gone = one.acquire('gone/ü');
    one.release(gone);
    one.acquire('held');
    const cancelled = other.acquire('held');
    other.cancel(cancelled);
    other.made('/e', { ephemeral: true });
    other.set('/e', 'data');
    fill(other, 5);
    const restored = copyOf(solo.machine);
    expect(restored.replyBytes).toBe(solo.machine.replyBytes);
    expect(restored.sessions()).toEqual(solo.machine.sessions());
  });

  it('of all sessions take about what is counted for them, and no more than their bound', { timeout: 60_000 }, () => {
    const solo = new Solo();
    const sessions = Array.from({ length: 100 }, () => solo.open());
    const before = bytesInUse();
    for (const session of sessions) fill(session);
    const errors = bytesInUse() - before;
    const counted = solo.machine.replyBytes;
    expect(counted).toBeGreaterThan(0.8 * STATE_LIMITS.maxReplyBytes);
    expect(counted).toBeLessThanOrEqual(STATE_LIMITS.maxReplyBytes + sessions.length * 3_000);
    expect(errors).toBeLessThan(1.25 * counted + 16 * MIB);
  });

  it.each([
    ['acquires that are gone', 100],
    ['nodes that were created', 100],
    ['locks that are held', 100],
  ])('are counted for %s, too', { timeout: 60_000 }, (what, sessions) => {
    const solo = new Solo();
    const owner = solo.open('o'.repeat(256));
    owner.acquire('taken');
    const opened = Array.from({ length: sessions }, () => solo.open());
    const before = bytesInUse();
    for (const [n, session] of opened.entries()) {
      for (let round = 0; round < 100; round += 1) {
        if (what.startsWith('acquires')) {
          const own = session.acquire(`${n}/${round}/${'x'.repeat(200)}`);
          session.release(own);
        } else if (what.startsWith('nodes')) {
          const path = session.made(`/${n}-${round}-${'x'.repeat(200)}`);
          owner.delete(path);
          owner.ackedUpTo = owner.number;
        } else {
          session.send(acquireCommand('taken', false));
        }
      }
    }
    const used = bytesInUse() - before;
    expect(used).toBeLessThan(1.25 * solo.machine.replyBytes + 4 * MIB);
  });
});
