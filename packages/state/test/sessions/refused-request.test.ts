import { CommandType, encodeCommand } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { acquireCommand, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

const SHORT_OF_DISK = 3;

/** What the leader puts in the place of the session's next request. */
function refusal(session: SoloSession, number: number): Uint8Array {
  return session.rawEntry(CommandType.refuse, encodeCommand({ type: 'refuse', server: SHORT_OF_DISK }), number);
}

describe('a request in whose place the leader has put a refusal', () => {
  it('is answered DISK_FULL with the server named, changes nothing, and does not hold up the next', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('a');
    session.number += 1;
    const { reply } = only(solo.apply(refusal(session, session.number)), 'reply');
    expect(reply).toMatchObject({ type: 'error', code: 'DISK_FULL' });
    expect(reply).toHaveProperty('message', expect.stringContaining(`disk of server ${SHORT_OF_DISK} is almost full`));
    expect(session.release(held)).toEqual({ type: 'done' });
  });

  it('stays refused when a copy of it arrives later: it was answered', () => {
    const solo = new Solo();
    const session = solo.open();
    session.number += 1;
    solo.apply(refusal(session, session.number));
    expect(codeOf(session.resend(session.number, acquireCommand('a')))).toBe('DISK_FULL');
    expect(solo.queue('a')).toEqual([]);
  });

  it('keeps the answer that it had when it was applied before', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('a');
    const { reply } = only(solo.apply(refusal(session, session.number)), 'reply');
    expect(asReply(reply, 'acquire').token).toBe(held.token);
  });

  it('is refused like any other under an earlier generation, or with a gap', () => {
    const solo = new Solo();
    const session = solo.open();
    const late = refusal(session, 1);
    expect(only(solo.apply(refusal(session, 2)), 'refused').code).toBe('OUT_OF_ORDER');
    session.attachAgain();
    expect(only(solo.apply(late), 'refused').code).toBe('SESSION_MOVED');
  });
});

describe('a secret', () => {
  it('is known from the creation of its session to the end', () => {
    const solo = new Solo();
    const secret = solo.secret();
    expect(solo.machine.hasSessionOf(secret)).toBe(false);
    const { session } = asReply(solo.attach({ secret }), 'attached');
    expect(solo.machine.hasSessionOf(secret)).toBe(true);
    solo.expire(session);
    expect(solo.machine.hasSessionOf(secret)).toBe(false);
  });
});
