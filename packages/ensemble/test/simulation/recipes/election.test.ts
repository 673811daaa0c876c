import { getEventListeners } from 'node:events';
import type { Client, Leader, Term } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT, type Applications } from '../../support/applications.ts';
import { errorOf } from '../../support/simulated-ensemble.ts';

interface Candidate {
  readonly client: Client;
  readonly terms: Term[];
  /** Whether the signal of the term before had aborted when the next began. */
  readonly abortedFirst: boolean[];
  readonly stop: () => Promise<unknown>;
}

/** Leads for as long as each term lasts. */
async function candidate(world: Applications, value: string, resilient = false): Promise<Candidate> {
  const client = await world.connect({ resilient });
  const aborter = new AbortController();
  const terms: Term[] = [];
  const abortedFirst: boolean[] = [];
  const reason = new Error('enough');
  const campaigning = errorOf(
    (async () => {
      for await (const term of client.election('job').campaign({ value, signal: aborter.signal })) {
        const before = terms.at(-1);
        if (before !== undefined) abortedFirst.push(before.signal.aborted);
        terms.push(term);
        await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve(), { once: true }));
      }
    })(),
  );
  const stop = async (): Promise<unknown> => {
    aborter.abort(reason);
    const error = await world.complete(campaigning);
    expect(getEventListeners(aborter.signal, 'abort')).toEqual([]);
    return error === reason ? undefined : error;
  };
  return { client, terms, abortedFirst, stop };
}

function inWords(leader: Leader | undefined): string {
  return leader === undefined ? 'nobody' : new TextDecoder().decode(leader.value);
}

describe('an election', () => {
  it('has one leader at a time, with rising tokens, and tells who observes it who that is', async () => {
    const world = await applications(1);
    const seen: string[] = [];
    const observer = await world.connect();
    const aborter = new AbortController();
    const observing = errorOf(
      (async () => {
        for await (const leader of observer.election('job').observe({ signal: aborter.signal }))
          seen.push(inWords(leader));
      })(),
    );
    await world.ensemble.until(() => seen.length === 1);
    const a = await candidate(world, 'a');
    await world.ensemble.until(() => a.terms.length === 1);
    const b = await candidate(world, 'b');
    await world.pass(500);
    expect(b.terms).toEqual([]);
    await world.complete(a.terms[0]?.proclaim('a again') ?? Promise.reject(new Error('no term')));
    await world.pass(100);
    expect(await a.stop()).toBeUndefined();
    await world.ensemble.until(() => b.terms.length === 1);
    expect(b.terms[0]?.token).toBeGreaterThan(a.terms[0]?.token ?? Infinity);
    expect(inWords(await world.complete(observer.election('job').leader()))).toBe('b');
    expect(await b.stop()).toBeUndefined();
    await world.ensemble.until(() => seen.at(-1) === 'nobody' && seen.length > 4);
    aborter.abort('seen');
    expect(await world.complete(observing)).toBe('seen');
    expect(seen).toEqual(['nobody', 'a', 'a again', 'nobody', 'b', 'nobody']);
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it.each([false, true])(
    'goes on in another session when that of its leader has expired (resilient: %s)',
    async (resilient) => {
      const world = await applications(2);
      const a = await candidate(world, 'a', resilient);
      await world.ensemble.until(() => a.terms.length === 1);
      const b = await candidate(world, 'b');
      await world.expire(a.client);
      await world.ensemble.until(() => b.terms.length === 1);
      expect(a.terms[0]?.signal.aborted).toBe(true);
      expect(b.terms[0]?.token).toBeGreaterThan(a.terms[0]?.token ?? Infinity);
      // It waits behind the other one, and leads after it.
      expect(await b.stop()).toBeUndefined();
      await world.ensemble.until(() => a.terms.length === 2);
      expect(a.terms[1]?.token).toBeGreaterThan(b.terms[0]?.token ?? Infinity);
      expect(a.abortedFirst).toEqual([true]);
      expect(inWords(await world.complete(b.client.election('job').leader()))).toBe('a');
      expect(await a.stop()).toBeUndefined();
      expect(await world.close()).toEqual(NOTHING_LEFT);
    },
  );

  it('goes on for who waits when its session has expired, and for who observes', async () => {
    const world = await applications(3);
    const a = await candidate(world, 'a');
    await world.ensemble.until(() => a.terms.length === 1);
    const b = await candidate(world, 'b');
    const seen: string[] = [];
    const observing = errorOf(
      (async () => {
        for await (const leader of b.client.election('job').observe()) seen.push(inWords(leader));
      })(),
    );
    await world.ensemble.until(() => seen.length === 1);
    await world.expire(b.client);
    await world.complete(a.terms[0]?.proclaim('new') ?? Promise.reject(new Error('no term')));
    await world.ensemble.until(() => seen.at(-1) === 'new');
    expect(await a.stop()).toBeUndefined();
    await world.ensemble.until(() => b.terms.length === 1);
    expect(await b.stop()).toBeUndefined();
    await world.complete(b.client.close());
    expect(await world.complete(observing)).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('keeps its leader over a change of the leader of the ensemble', async () => {
    const world = await applications(4);
    const a = await candidate(world, 'a');
    await world.ensemble.until(() => a.terms.length === 1);
    await world.changeLeader();
    await world.complete(a.terms[0]?.held.verify() ?? Promise.reject(new Error('no term')));
    expect(a.terms).toHaveLength(1);
    expect(await a.stop()).toBeUndefined();
  });

  it('campaigns again when an operator takes the leadership away', async () => {
    const world = await applications(5);
    const a = await candidate(world, 'a');
    await world.ensemble.until(() => a.terms.length === 1);
    const operator = await world.connect();
    const [node = ''] = (await world.complete(operator.nodes.children('/holdfast/locks/election%2Fjob'))).names;
    await world.complete(operator.nodes.delete(`/holdfast/locks/election%2Fjob/${node}`));
    await world.ensemble.until(() => a.terms.length === 2);
    expect(a.abortedFirst).toEqual([true]);
    await world.pass(500);
    // Nothing is left of the term that was revoked.
    expect((await world.complete(operator.nodes.children('/recipes/elections/job'))).names).toEqual([
      a.terms[1]?.held.tokenText,
    ]);
    expect(await a.stop()).toBeUndefined();
  });

  it('resigns where the loop is left, and puts who asks for the next term at the end of the queue', async () => {
    const world = await applications(6);
    const [a, b] = [await world.connect(), await world.connect()];
    const order: string[] = [];
    const lead = async (client: Client, name: string, times: number): Promise<void> => {
      let left = times;
      for await (const _ of client.election('job').campaign()) {
        order.push(name);
        left -= 1;
        if (left === 0) return;
      }
    };
    await world.complete(Promise.all([lead(a, 'a', 3), lead(b, 'b', 3)]));
    expect(order.toSorted()).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    expect(order.join('')).toContain('aba');
    expect(await world.complete(a.election('job').leader())).toBeUndefined();
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('ends a term by resign, and lets nobody else proclaim', async () => {
    const world = await applications(7);
    const client = await world.connect();
    const election = client.election('job');
    expect(await world.complete(errorOf(election.proclaim('x')))).toMatchObject({ code: 'NOT_HELD' });
    const campaign = election.campaign();
    const { value: term } = await world.complete(campaign.next());
    await world.complete(election.proclaim('mine'));
    expect(inWords(await world.complete(election.leader()))).toBe('mine');
    await world.complete(election.resign());
    expect(term?.signal.aborted).toBe(true);
    expect(await world.complete(errorOf(election.proclaim('x')))).toMatchObject({ code: 'NOT_HELD' });
    expect(await world.complete(errorOf(term?.proclaim('x') ?? Promise.resolve()))).toMatchObject({
      code: 'LOCK_LOST',
    });
    expect(await world.complete(election.leader())).toBeUndefined();
    await world.complete(campaign.return());
  });

  it('refuses names, options and values that cannot be', async () => {
    const world = await applications(8);
    const client = await world.connect();
    expect(() => client.election('')).toThrow(/election.* name "" is empty/);
    expect(() => client.election('a').campaign({ valeu: 'x' } as object)).toThrow(/did you mean value/);
    expect(() => client.election('a').campaign({ value: 7 as unknown as string })).toThrow(/data must be text/);
  });

  it('leaves neither wait nor listener when a campaign is given up', async () => {
    const world = await applications(9);
    const a = await candidate(world, 'a');
    const b = await candidate(world, 'b');
    await world.ensemble.until(() => a.client.status().holds === 1 && b.client.status().waits === 1);
    expect(await b.stop()).toBeUndefined();
    await world.pass(100);
    expect(b.client.status()).toMatchObject({ holds: 0, waits: 0 });
    expect(await a.stop()).toBeUndefined();
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });

  it('ends with its client, expired or not', async () => {
    const world = await applications(10);
    const [a, b] = [await candidate(world, 'a'), await candidate(world, 'b')];
    await world.revoke(b.client);
    await world.pass(500);
    await world.complete(Promise.all([a.client.close(), b.client.close()]));
    expect(await a.stop()).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(await b.stop()).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(await world.close()).toEqual(NOTHING_LEFT);
  });
});
