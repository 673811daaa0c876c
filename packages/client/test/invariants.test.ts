import { MUTEX, type ClientMessage } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { HeldLock, type HoldKeeper } from '../src/locks/held-lock.ts';
import { ReentrantHold } from '../src/locks/reentrant/reentrant-hold.ts';
import { wantedOf } from '../src/locks/wanted.ts';
import { ask, type Channel } from '../src/session/call.ts';
import type { Sink } from '../src/session/channels/pipeline.ts';
import { RequestPipeline, encoded, type RequestCall } from '../src/session/channels/request-pipeline.ts';
import { Lease, instantOf } from '../src/session/lease.ts';
import { TimeLimits } from '../src/session/time-limits.ts';
import { scenario } from './support/scenario.ts';
import { TestWorld } from './support/test-world.ts';

const broken = (invariant: string) => expect.objectContaining({ name: 'InvariantError', invariant });

describe('the order of requests', () => {
  it('is checked whenever they are sent: one that would pass an earlier one does not leave', () => {
    const { pipeline, submit, sink, posted } = requests();
    pipeline.attached(sink);
    const [first, second] = [submit(), submit()];
    [first.number, second.number] = [second.number, first.number];
    expect(() => pipeline.attached(sink)).toThrow(broken('requests-are-sent-in-order'));
    expect(posted()).toEqual([1, 2, 2]);
  });

  it('begins anew where a server has refused requests, and with each attachment', async () => {
    const { pipeline, world, submit, sink, posted } = requests();
    pipeline.attached(sink);
    submit();
    submit();
    pipeline.refused(2, 'OUT_OF_ORDER');
    await world.sleep(10);
    expect(posted()).toEqual([1, 2, 2]);
    pipeline.attached(sink);
    expect(posted()).toEqual([1, 2, 2, 1, 2]);
  });

  it('is not acknowledged beyond what has been answered', () => {
    const { pipeline, submit, sink } = requests();
    pipeline.attached(sink);
    const call = submit();
    submit();
    pipeline.answer(1);
    pipeline.answer(2);
    pipeline.disconnected();
    const later = submit();
    pipeline.attached(sink);
    expect(later.number).toBe(3);
    later.number = call.number;
    expect(() => pipeline.attached(sink)).toThrow(broken('only-answered-requests-are-acknowledged'));
  });
});

describe('a lease', () => {
  it('counts from the past only', () => {
    const { clock } = new TestWorld().host('application').runtime;
    const lease = new Lease(clock, 10_000);
    const now = instantOf(clock);
    lease.renew(now);
    expect(lease.remainingMs()).toBe(9_800);
    lease.renew({ ...now, monotonicMs: now.monotonicMs + 1 });
    expect(() => lease.remainingMs()).toThrow(broken('a-lease-counts-from-the-past'));
  });

  it('is not renewed any more when its session is over', async () => {
    const { world, connect } = await scenario();
    const { session } = await connect();
    const now = { monotonicMs: world.nowMs, wallMs: world.nowMs };
    session.lease.renew(now);
    await world.settled(session.close('over', 1_000));
    expect(() => session.lease.renew(now)).toThrow(broken('only-a-living-session-is-renewed'));
  });
});

describe('a hold', () => {
  const keeper: HoldKeeper = {
    remainingMs: () => 1,
    lapsed: () => undefined,
    release: () => Promise.resolve(),
    verify: () => Promise.resolve(),
    downgrade: () => Promise.resolve(),
  };
  const wanted = wantedOf({ lock: 'a', asked: MUTEX });

  it('has a token', () => {
    expect(() => new HeldLock(wanted, 7, 0, keeper)).toThrow(broken('a-hold-has-a-token'));
    expect(new HeldLock(wanted, 7, 9, keeper).token).toBe(9);
  });

  it('that its owner has entered several times is left once by each entry', async () => {
    const hold = new ReentrantHold(wanted, new HeldLock(wanted, 7, 9, keeper), () => undefined);
    const [entry, other] = [hold.enter(), hold.enter()];
    await entry.release();
    expect(() => hold.releasedLost(entry)).toThrow(broken('an-entry-is-released-once'));
    expect(hold.entries).toBe(1);
    expect(other.loss).toBeUndefined();
  });

  it('has one owner: no second one is handed out under the same acquire index', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.server(1).hook = (message) => (message.type === 'request' ? 'ignore' : 'handle');
    client
      .lock('b')
      .acquire()
      .catch(() => undefined);
    await world.until(() => ensemble.requests().length === 2);
    const { acquireIndex, token } = held;
    const reply = { type: 'acquire', acquireIndex, token: token + 1 } as const;
    ensemble.server(1).broadcast({ type: 'reply', number: 2, index: token + 1, reply });
    await expect(world.sleep(10)).rejects.toThrow(broken('a-wait-or-hold-has-one-owner'));
  });
});

/** A pipeline on its own, with what it has sent. */
function requests() {
  const world = new TestWorld();
  const { clock, random } = world.host('application').runtime;
  const pipeline = new RequestPipeline({ maxQueued: 10 }, { clock, random });
  const messages: ClientMessage[] = [];
  const sink: Sink = { features: 0, post: (message) => (messages.push(message), instantOf(clock)) };
  const calls: RequestCall[] = [];
  const channel: Channel<RequestCall> = {
    host: { limits: new TimeLimits(clock), limitAtMs: () => Number.POSITIVE_INFINITY, describe: () => 'alone' },
    submit: (call) => {
      calls.push(call);
      pipeline.submit(call);
    },
    withdraw: (call) => pipeline.withdraw(call),
  };
  const submit = (): RequestCall => {
    void ask(channel, encoded({ type: 'delete', path: '/n', version: -1 }), 'delete /n', {});
    return calls.at(-1)!;
  };
  const posted = (): number[] => messages.map((message) => (message.type === 'request' ? message.number : 0));
  return { pipeline, world, submit, sink, posted };
}
