/** What clients can make the state keep is filled to its bound, and measured: a bound is worth something if what it counts is what is kept. */

import { describe, expect, it } from 'vitest';

import { STATE_LIMITS } from '@holdfast/state';

import { bytesInUse } from './support/in-use.ts';
import { codeOf, Solo, type SoloSession } from './support/solo.ts';

const MIB = 1024 * 1024;
/** What a full collection leaves now and then. */
const NOISE_BYTES = MIB;

/** Asks until it is refused, and acknowledges everything; how often it was not. */
function fill(session: SoloSession, ask: (n: number) => { readonly type: string }): number {
  for (let n = 0; ; n += 1) {
    session.ackedUpTo = session.number;
    const reply = ask(n);
    if (reply.type !== 'error') continue;
    expect(reply).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    return n;
  }
}

/** What `work` leaves in use. */
function growth(work: () => void): number {
  const before = bytesInUse();
  work();
  return bytesInUse() - before;
}

describe('a session that asks until it is refused', { timeout: 60_000 }, () => {
  it('has ephemeral nodes for at most 256 bytes each', () => {
    const most = STATE_LIMITS.maxEphemeralsPerSession / 5;
    const session = new Solo({ maxEphemeralsPerSession: most }).open();
    const used = growth(() => {
      expect(fill(session, (n) => session.create(`/${n}`, { ephemeral: true }))).toBe(most);
    });
    expect(used).toBeLessThan(most * 256 + NOISE_BYTES);
  });

  it('has 10,000 holds of locks for at most 1 KiB each', () => {
    const session = new Solo().open();
    const used = growth(() => {
      const holds = fill(session, (n) => session.send({ type: 'acquire', lock: `${n}`, kind: 0, wait: true }));
      expect(holds).toBe(STATE_LIMITS.maxAcquiresPerSession);
    });
    expect(used).toBeLessThan(STATE_LIMITS.maxAcquiresPerSession * 1_024 + NOISE_BYTES);
  });

  it('has 10,000 waits for at most 512 bytes each', () => {
    const session = new Solo().open();
    const used = growth(() => {
      fill(session, () => session.send({ type: 'acquire', lock: 'a', kind: 0, wait: true }));
    });
    expect(session.solo.machine.counts.waits).toBe(STATE_LIMITS.maxAcquiresPerSession - 1);
    expect(used).toBeLessThan(STATE_LIMITS.maxAcquiresPerSession * 512 + NOISE_BYTES);
  });

  it('has holds of locks with the longest names for at most four times what they take in a listing', () => {
    const session = new Solo().open();
    const lock = (n: number): string => `${String(n).padStart(4, '0')}${'€'.repeat(100)}`;
    const used = growth(() => {
      const holds = fill(session, (n) => session.send({ type: 'acquire', lock: lock(n), kind: 0, wait: true }));
      expect(holds).toBeGreaterThan(5_000);
    });
    expect(used).toBeLessThan(4 * STATE_LIMITS.maxAcquireListBytes + NOISE_BYTES);
  });
});

describe('the tree that is filled to a bound', { timeout: 60_000 }, () => {
  it.each([
    ['names of one unit a byte', 'x'.repeat(900)],
    ['names of two bytes a unit', '€'.repeat(450)],
  ])('takes a quarter more than its %s count for', (_, long) => {
    const maxTreeNameBytes = 8 * MIB;
    const session = new Solo({ maxTreeNameBytes }).open();
    const used = growth(() => {
      const nodes = fill(session, (n) => session.create(`/${n}${long}`));
      expect(nodes).toBeGreaterThan(8_000);
    });
    expect(session.solo.machine.counts.nameBytes).toBeGreaterThan(maxTreeNameBytes - 1_000);
    expect(used).toBeLessThan(1.25 * maxTreeNameBytes + NOISE_BYTES);
  });

  it.each([
    ['cells', 1_000, 1.25],
    ['arrays of their own', 1_100, 1.5],
    ['large arrays', 256 * 1024, 1.05],
  ])('takes little more than its data, in %s', (_, length, times) => {
    const maxTreeDataBytes = 8 * MIB;
    const session = new Solo({ maxTreeDataBytes }).open();
    const data = 'd'.repeat(length);
    const used = growth(() => fill(session, (n) => session.create(`/${n}`, { data })));
    expect(session.solo.machine.counts.dataBytes).toBeGreaterThan(maxTreeDataBytes - length - 1);
    expect(used).toBeLessThan(times * maxTreeDataBytes + NOISE_BYTES);
  });

  it('takes at most 200 bytes for each of as many nodes as there may be', () => {
    const maxNodes = 50_000;
    const session = new Solo({ maxNodes }).open();
    const used = growth(() => fill(session, (n) => session.create(`/${n}`)));
    expect(session.solo.machine.counts.nodes).toBe(maxNodes);
    expect(used).toBeLessThan(maxNodes * 200 + NOISE_BYTES);
  });
});

describe('as many sessions as there may be', { timeout: 60_000 }, () => {
  it('take at most 2 KiB each, however long their labels are', () => {
    const maxSessions = 10_000;
    const solo = new Solo({ maxSessions });
    const used = growth(() => {
      for (let n = 0; n < maxSessions; n += 1) solo.open(`${n}${'€'.repeat(250)}`);
    });
    expect(codeOf(solo.attach({ secret: solo.secret(), label: 'one more' }))).toBe('LIMIT_EXCEEDED');
    expect(used).toBeLessThan(maxSessions * 2_048 + NOISE_BYTES);
  });
});

describe('listings', { timeout: 60_000 }, () => {
  it('keep the sorted names of four nodes, however many are listed', () => {
    const [parents, children, lists] = [16, 1_000, 4];
    const session = new Solo().open();
    const { solo } = session;
    for (let parent = 0; parent < parents; parent += 1) {
      session.made(`/${parent}`);
      for (let child = 0; child < children; child += 1) session.made(`/${parent}/${child}${'x'.repeat(300)}`);
      session.ackedUpTo = session.number;
    }
    const used = growth(() => {
      for (let parent = 0; parent < parents; parent += 1) solo.ask({ type: 'children', path: `/${parent}` });
    });
    expect(used).toBeLessThan(lists * children * 400 + NOISE_BYTES);
  });

  it('cost at most 64 bytes a lock and a session', () => {
    const solo = new Solo();
    const [sessions, locks] = [100, 10_000];
    const all = Array.from({ length: sessions }, () => solo.open());
    for (const [n, session] of all.entries()) {
      for (let lock = 0; lock < locks / sessions; lock += 1) session.acquire(`${n}/${lock}`);
    }
    const before = bytesInUse();
    solo.ask({ type: 'locks', prefix: '', after: '', limit: 1_000 });
    solo.ask({ type: 'sessions', after: 0, limit: 1_000 });
    expect(bytesInUse() - before).toBeLessThan((locks + sessions) * 64 + NOISE_BYTES);
  });
});
