import { describe, expect, it } from 'vitest';

import { acquireCommand, asReply, only, SERVER, Solo } from '../support/solo.ts';

const OTHER = SERVER + 1;

describe('a request that comes through a server at which its session is not attached', () => {
  it('is refused without effect, and uses no number up', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('treasure');
    const release = session.entry({ type: 'release', lock: 'treasure', acquireIndex: held.acquireIndex }, 2);
    for (const server of [0, OTHER]) {
      expect(solo.apply(release, server)).toEqual([
        {
          type: 'refused',
          server,
          session: session.id,
          generation: session.generation,
          number: 2,
          code: 'SESSION_MOVED',
          lastApplied: 1,
        },
      ]);
    }
    expect(solo.queue('treasure')).toEqual([`${session.id}@${held.token}`]);
    expect(asReply(session.release(held), 'done')).toEqual({ type: 'done' });
  });

  it('makes the session forget no answer, whatever it acknowledges', () => {
    const solo = new Solo();
    const session = solo.open();
    const held = session.acquire('a');
    session.ackedUpTo = 1;
    solo.apply(session.entry(acquireCommand('b'), 2), OTHER);
    session.ackedUpTo = 0;
    expect(session.resend(1, acquireCommand('a'))).toMatchObject({ token: held.token });
  });

  it('counts once the session has been attached there, and no more through the server before', () => {
    const solo = new Solo();
    const session = solo.open();
    expect(solo.machine.session(session.id)).toMatchObject({ server: SERVER });
    const { generation } = asReply(solo.attach({ secret: session.secret, session: session.id }, OTHER), 'attached');
    session.generation = generation;
    expect(solo.machine.session(session.id)).toMatchObject({ server: OTHER });
    expect(only(solo.apply(session.entry(acquireCommand('a'), 1)), 'refused').code).toBe('SESSION_MOVED');
    expect(only(solo.apply(session.entry(acquireCommand('a'), 1), OTHER), 'reply').reply.type).toBe('acquire');
  });
});
