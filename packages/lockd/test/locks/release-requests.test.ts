import { CommandType, type ServerMessage } from '@holdfast/protocol';
import { decodeEntryHeader, LATEST_STATE_VERSION } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { RELEASE_TICK_MS, STATE_UPGRADE_CHECK_MS, STATE_UPGRADE_CHECKS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const TIMEOUT_MS = 120_000;
const WITHIN_MS = 10_000;
/** What is over is proposed within that. */
const LATE_MS = 2 * RELEASE_TICK_MS;

interface Led {
  readonly ensemble: LoopbackEnsemble;
  /** Of server 2, with lock `l`. */
  readonly holder: TestClient;
  readonly session: number;
  readonly acquireIndex: number;
  /** By an operator at server 1. */
  readonly ask: (withinMs: number, revokes: boolean) => void;
}

/** Three servers of the latest state version under leader 1. */
function led(): Led {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  ensemble.clock.advance(LATEST_STATE_VERSION * STATE_UPGRADE_CHECK_MS * STATE_UPGRADE_CHECKS);
  const holder = ensemble.server(2).connect();
  const { session } = holder.attach(1, { timeoutMs: TIMEOUT_MS });
  holder.acquire(1, 'l');
  const reply = holder.take().find((message) => message.type === 'reply')?.reply;
  if (reply?.type !== 'acquire') throw new Error(JSON.stringify(reply));
  const { acquireIndex } = reply;
  const operator = ensemble.server(1).connect();
  operator.attach(2, { timeoutMs: TIMEOUT_MS });
  let number = 0;
  const ask = (withinMs: number, revokes: boolean): void => {
    number += 1;
    operator.request(number, { type: 'requestRelease', lock: 'l', acquireIndex, withinMs, revokes }, number - 1);
    expect(operator.take()).toMatchObject([{ type: 'reply', reply: { type: 'done' } }]);
  };
  return { ensemble, holder, session, acquireIndex, ask };
}

function kinds(messages: readonly ServerMessage[]): readonly string[] {
  return messages.map(({ type }) => type);
}

/** How many entries end the time of a request. */
function enforced({ log }: LoopbackEnsemble): number {
  const commands = log.filter(({ data }) => data.length > 0);
  return commands.filter(({ data }) => decodeEntryHeader(data).command === CommandType.enforceRelease).length;
}

describe('a holder that is asked to release its lock', () => {
  it('is told by whom, for how long, and what comes then', () => {
    const { holder, acquireIndex, ask, ensemble } = led();
    ask(WITHIN_MS, true);
    expect(holder.take()).toEqual([
      {
        type: 'release-requested',
        index: ensemble.log.length,
        lock: 'l',
        acquireIndex,
        withinMs: WITHIN_MS,
        revokes: true,
        by: 'client 2',
      },
    ]);
  });

  it('is told again when it attaches anew, at whichever server, with the time that is left', () => {
    const { ensemble, holder, session, acquireIndex, ask } = led();
    ask(WITHIN_MS, false);
    holder.drop();
    ensemble.clock.advance(4_000);
    const again = ensemble.server(3).connect();
    again.sendAttach(1, { session, timeoutMs: TIMEOUT_MS });
    const messages = again.take();
    expect(kinds(messages)).toEqual(['attached', 'release-requested']);
    expect(messages[1]).toMatchObject({ acquireIndex, withinMs: WITHIN_MS - 4_000, revokes: false, by: 'client 2' });
  });

  it('is told nothing more once it has released', () => {
    const { ensemble, holder, session, acquireIndex, ask } = led();
    ask(WITHIN_MS, true);
    holder.request(2, { type: 'release', lock: 'l', acquireIndex }, 1);
    holder.take();
    holder.drop();
    const again = ensemble.server(3).connect();
    again.sendAttach(1, { session, timeoutMs: TIMEOUT_MS });
    expect(kinds(again.take())).toEqual(['attached']);
    ensemble.clock.advance(2 * WITHIN_MS);
    expect(enforced(ensemble)).toBe(0);
  });

  it('is told of it by a server that has skipped the entry', async () => {
    const { ensemble, holder, acquireIndex, ask } = led();
    const behind = ensemble.server(2);
    behind.lagging = true;
    ask(WITHIN_MS, true);
    expect(holder.take()).toEqual([]);
    await behind.install(ensemble.server(1));
    behind.lagging = false;
    expect(holder.take()).toMatchObject([{ type: 'release-requested', acquireIndex, withinMs: WITHIN_MS }]);
  });
});

describe('a holder that has not released in time', () => {
  it('loses the lock then, and not before', () => {
    const { ensemble, holder, acquireIndex, ask } = led();
    ask(WITHIN_MS, true);
    holder.take();
    ensemble.clock.advance(WITHIN_MS - 1);
    expect(holder.take()).toEqual([]);
    ensemble.clock.advance(LATE_MS);
    expect(holder.take()).toMatchObject([{ type: 'lost', acquireIndex, reason: 'revoked' }]);
    ensemble.clock.advance(2 * WITHIN_MS);
    expect(enforced(ensemble)).toBe(1);
  });

  it('keeps it where it is to be left', () => {
    const { ensemble, holder, ask } = led();
    ask(WITHIN_MS, false);
    holder.take();
    ensemble.clock.advance(2 * WITHIN_MS);
    expect([holder.take(), enforced(ensemble)]).toEqual([[], 0]);
  });

  it('has the time of the last request', () => {
    const { ensemble, holder, ask } = led();
    ask(WITHIN_MS, true);
    ensemble.clock.advance(WITHIN_MS / 2);
    ask(WITHIN_MS, true);
    holder.take();
    ensemble.clock.advance(WITHIN_MS - 1);
    expect(holder.take()).toEqual([]);
    ensemble.clock.advance(LATE_MS);
    expect(kinds(holder.take())).toEqual(['lost']);
  });

  it('has its whole time again under a new leader', () => {
    const { ensemble, holder, ask } = led();
    ask(WITHIN_MS, true);
    ensemble.clock.advance(WITHIN_MS - 1);
    ensemble.depose();
    ensemble.elect(3);
    holder.take();
    ensemble.clock.advance(WITHIN_MS - 1);
    expect(kinds(holder.take())).not.toContain('lost');
    ensemble.clock.advance(LATE_MS);
    expect(kinds(holder.take())).toContain('lost');
    expect(enforced(ensemble)).toBe(1);
  });

  it('is revoked a moment later where the entry was refused', () => {
    const { ensemble, holder, ask } = led();
    ask(WITHIN_MS, true);
    ensemble.rejectWith = 'overloaded';
    ensemble.clock.advance(WITHIN_MS + LATE_MS);
    expect(kinds(holder.take())).not.toContain('lost');
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(LATE_MS);
    expect(kinds(holder.take())).toContain('lost');
  });
});

describe('a wait that was ended to break a deadlock', () => {
  it('is told the deadlock, and is counted', () => {
    const { ensemble, holder, session } = led();
    const other = ensemble.server(3).connect();
    const { session: otherSession } = other.attach(3, { timeoutMs: TIMEOUT_MS });
    other.acquire(1, 'm');
    other.take();
    const locks = [{ lock: 'm', kind: 0 }];
    holder.request(2, { type: 'acquireWith', locks, wait: true, lockDelayMs: 0, abortInDeadlock: true }, 1);
    holder.take();
    other.acquire(2, 'l');
    other.take();
    const [lost] = holder.take();
    expect(lost).toMatchObject({
      type: 'lost',
      lock: 'm',
      reason: 'deadlock',
      deadlock: [
        { session, holds: 'l', waitsFor: 'm' },
        { session: otherSession, holds: 'm', waitsFor: 'l' },
      ],
    });
    for (const { machine } of ensemble.servers) {
      expect(machine.counters).toMatchObject({ deadlockedWaitsEnded: 1, deadlockSearchesCut: 0 });
    }
  });
});
