import { acquireWithCommand, CommandType, MUTEX, type Command as AnyCommand } from '@holdfast/protocol';
import { decodeEntryHeader, LATEST_STATE_VERSION } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import {
  LOCK_DELAY_RETRY_MS,
  LOCK_DELAY_TICK_MS,
  MAX_LOCK_DELAYS_A_TICK,
  STATE_UPGRADE_CHECK_MS,
  STATE_UPGRADE_CHECKS,
} from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

type Command = Exclude<AnyCommand, { type: 'attach' | 'expireSession' | 'refuse' }>;

const DELAY_MS = 10_000;
/** What is over is proposed within that. */
const LATE_MS = 2 * LOCK_DELAY_TICK_MS;

/** A client whose requests are sent one after the other. */
class Requester {
  readonly client: TestClient;
  readonly session: number;
  #number = 0;

  constructor(ensemble: LoopbackEnsemble, secret: number, server = 2) {
    this.client = ensemble.server(server).connect();
    this.session = this.client.attach(secret, { timeoutMs: 120_000 }).session;
  }

  /** The type of the reply; `waits` for an acquire that does. */
  send(command: Command): string {
    this.#number += 1;
    this.client.request(this.#number, command, this.#number - 1);
    const message = this.client.take().find((each) => each.type === 'reply');
    if (message?.type !== 'reply') throw new Error(`${command.type} was not answered`);
    const { reply } = message;
    if (reply.type === 'error') throw new Error(reply.message);
    return reply.type === 'acquire' && reply.token === 0 ? 'waits' : reply.type;
  }

  acquire(lock: string, lockDelayMs: number): string {
    return this.send(acquireWithCommand([{ lock, asked: MUTEX }], true, { lockDelayMs, abortInDeadlock: false }));
  }

  close(session: number): void {
    this.send({ type: 'closeSession', session });
  }
}

interface Led {
  readonly ensemble: LoopbackEnsemble;
  /** Closes sessions by force. */
  readonly operator: Requester;
  /** A new session that holds the lock, with a delay. */
  readonly holder: (lock: string, delayMs?: number) => Requester;
  /** Whether every server has the lock delayed, or none; an error for anything else. */
  readonly delayed: (lock: string) => boolean;
}

/** Three servers of the latest state version under leader 1. */
function led(): Led {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  ensemble.clock.advance(LATEST_STATE_VERSION * STATE_UPGRADE_CHECK_MS * STATE_UPGRADE_CHECKS);
  let secrets = 0;
  const open = (): Requester => new Requester(ensemble, (secrets += 1));
  const holder = (lock: string, delayMs = DELAY_MS): Requester => {
    const requester = open();
    requester.acquire(lock, delayMs);
    return requester;
  };
  const delayed = (lock: string): boolean => {
    const answers = ensemble.servers.map(({ machine }) => machine.state.query({ type: 'lock', lock }));
    const found = new Set(answers.map((answer) => answer.type === 'lock' && answer.delay !== undefined));
    if (found.size !== 1) throw new Error(`the servers do not agree about ${lock}`);
    return found.has(true);
  };
  return { ensemble, operator: open(), holder, delayed };
}

function ends({ log }: LoopbackEnsemble): number {
  const commands = log.flatMap(({ data }) => (data.length === 0 ? [] : [decodeEntryHeader(data).command]));
  return commands.filter((command) => command === CommandType.endLockDelay).length;
}

describe('a delayed lock', () => {
  it('is granted when the delay is over, and not before', () => {
    const { ensemble, operator, holder, delayed } = led();
    const lost = holder('l');
    const next = new Requester(ensemble, 99);
    expect(next.acquire('l', 0)).toBe('waits');
    operator.close(lost.session);
    expect(delayed('l')).toBe(true);
    ensemble.clock.advance(DELAY_MS - 1);
    expect(next.client.take()).toEqual([]);
    ensemble.clock.advance(LATE_MS);
    expect(next.client.take()).toMatchObject([{ type: 'granted', lock: 'l' }]);
    expect(delayed('l')).toBe(false);
    expect(ends(ensemble)).toBe(1);
  });

  it('is delayed in full by a new leader', () => {
    const { ensemble, operator, holder, delayed } = led();
    operator.close(holder('l').session);
    ensemble.clock.advance(DELAY_MS - 1_000);
    ensemble.depose();
    ensemble.elect(3);
    ensemble.clock.advance(DELAY_MS - 1);
    expect(delayed('l')).toBe(true);
    ensemble.clock.advance(LATE_MS);
    expect(delayed('l')).toBe(false);
  });

  it('is delayed by the monotonic clock, whatever the wall clock does', () => {
    const { ensemble, operator, holder, delayed } = led();
    operator.close(holder('l').session);
    ensemble.clock.wallOffsetMs += 86_400_000;
    ensemble.clock.advance(DELAY_MS - 1);
    expect(delayed('l')).toBe(true);
    ensemble.clock.wallOffsetMs -= 2 * 86_400_000;
    ensemble.clock.advance(LATE_MS);
    expect(delayed('l')).toBe(false);
  });

  it('is freed by the next leader when what the last one proposed is lost with it', () => {
    const { ensemble, operator, holder, delayed } = led();
    operator.close(holder('l', 1_000).session);
    ensemble.holdCommits = true;
    ensemble.clock.advance(1_000 + LATE_MS);
    ensemble.depose();
    ensemble.holdCommits = false;
    ensemble.elect(2);
    expect(delayed('l')).toBe(true);
    ensemble.clock.advance(1_000 + LATE_MS);
    expect(delayed('l')).toBe(false);
  });

  it('is freed when the end can be proposed that could not be for a while', () => {
    const { ensemble, operator, holder, delayed } = led();
    operator.close(holder('l', 1_000).session);
    ensemble.rejectWith = 'overloaded';
    ensemble.clock.advance(5_000);
    expect(delayed('l')).toBe(true);
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(LOCK_DELAY_RETRY_MS + LATE_MS);
    expect(delayed('l')).toBe(false);
    expect(ends(ensemble)).toBe(1);
  });

  it('that an operator has freed is left alone, and one that is delayed again has its whole time', () => {
    const { ensemble, operator, holder, delayed } = led();
    operator.close(holder('l').session);
    const [delay] = ensemble.server(1).machine.state.lockDelays();
    ensemble.clock.advance(DELAY_MS - 1_000);
    operator.send({ type: 'revoke', lock: 'l', acquireIndex: delay?.index ?? 0 });
    expect(delayed('l')).toBe(false);
    operator.close(holder('l').session);
    ensemble.clock.advance(DELAY_MS - 1);
    expect([delayed('l'), ends(ensemble)]).toEqual([true, 0]);
    ensemble.clock.advance(LATE_MS);
    expect([delayed('l'), ends(ensemble)]).toEqual([false, 1]);
  });
});

describe('very many delayed locks', () => {
  it('are freed some at a time', () => {
    const { ensemble, operator } = led();
    const lost = new Requester(ensemble, 99);
    const count = 2 * MAX_LOCK_DELAYS_A_TICK;
    for (let lock = 0; lock < count; lock += 1) lost.acquire(`l${lock}`, 1_000);
    operator.close(lost.session);
    const { state } = ensemble.server(3).machine;
    expect(state.delayedLocks).toBe(count);
    ensemble.clock.advance(1_000 + LOCK_DELAY_TICK_MS - 1);
    expect(ends(ensemble)).toBeLessThanOrEqual(MAX_LOCK_DELAYS_A_TICK);
    ensemble.clock.advance(2 * LATE_MS);
    expect([state.delayedLocks, ends(ensemble)]).toEqual([0, count]);
  });
});
