import { describe, expect, it } from 'vitest';
import { logTimesAreExact } from '../../../../src/checkers/locks/log-order.ts';
import type { HistoryEvent, HistoryEventBody, LogEvent } from '../../../../src/history/history.ts';
import { merge } from '../../../../src/targets/live/oracle/merge.ts';
import type { AppliedWrite } from '../../../../src/targets/applied-write.ts';
import type { Replayed } from '../../../../src/targets/live/oracle/replay.ts';
import { witnessesOf } from '../../../../src/targets/live/oracle/witnesses.ts';

function history(...bodies: readonly HistoryEventBody[]): HistoryEvent[] {
  return bodies.map((body, n) => ({ seq: n + 1, timeMs: 10 * n, process: 'c1', ...body }) as HistoryEvent);
}

const acquire = { f: 'acquire', lock: 'l', session: 3 } as const;
const asked = { type: 'invoke', call: 1, ...acquire } as const;
const told = { type: 'ok', call: 1, ...acquire, hold: 7, token: 9 } as const;
const set = (call: number, value: string) => ({ call, f: 'set', path: '/a', value, session: 3 }) as const;
const hold = { lock: 'l', session: 3, hold: 7 } as const;
const enqueued: LogEvent = { type: 'enqueued', index: 7, ...hold };
const granted: LogEvent = { type: 'granted', index: 9, token: 9, ...hold };
const expired: LogEvent = { type: 'ended-session', index: 12, session: 3, reason: 'expired' };
const write = (index: number, value: string): AppliedWrite => ({
  index,
  f: 'set',
  path: '/a',
  session: 3,
  number: index,
  value,
  refused: undefined,
});
const log = (events: readonly LogEvent[], ...writes: readonly AppliedWrite[]): Replayed => ({
  events,
  writes,
  problems: [],
  left: { sessions: 0, holds: 0, waits: 0 },
});
const types = (events: readonly HistoryEvent[]): string[] => events.map(({ type }) => type);

describe('the log among what clients said', () => {
  it('has an entry right before the first answer that shows it, and the rest at the end', () => {
    const events = history(asked, told);
    const replayed = log([enqueued, granted, expired]);
    const merged = merge(events, replayed.events, witnessesOf(events, replayed));
    expect(types(merged.history)).toEqual(['invoke', 'enqueued', 'granted', 'ok', 'ended-session']);
    expect(merged.history.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(merged.backwards).toEqual([]);
  });

  it('has times that are not taken for exact', () => {
    const events = history(asked, told, { type: 'session', event: 'expired', session: 3 });
    const replayed = log([enqueued, granted, expired]);
    const merged = merge(events, replayed.events, witnessesOf(events, replayed));
    expect(logTimesAreExact(merged.history)).toBe(false);
    // As they would be if an entry were known by itself, a moment before the answer.
    const earlier = merged.history.map((event) => (event.type === 'granted' ? { ...event, timeMs: 9 } : event));
    expect(logTimesAreExact(earlier)).toBe(true);
  });

  it('shows a call whose entry comes before what had been answered when it was made', () => {
    const events = history(
      { type: 'invoke', ...set(1, 'x') },
      { type: 'ok', ...set(1, 'x') },
      { type: 'invoke', ...set(2, 'y') },
      { type: 'ok', ...set(2, 'y') },
    );
    const replayed = log([], write(4, 'y'), write(5, 'x'));
    const { backwards } = merge(events, replayed.events, witnessesOf(events, replayed));
    expect(backwards).toHaveLength(1);
    expect(backwards[0]).toMatch(/"value":"y".* became entry 4, and entry 5 had been shown before it was made/);
  });
});

describe('the end of a session', () => {
  const ended = (event: 'expired' | 'closed'): HistoryEvent[] =>
    history({ type: 'session', event, session: 3 }, { type: 'invoke', ...set(1, 'x') }, { type: 'ok', ...set(1, 'x') });
  const replayed = log([expired], write(11, 'x'));

  it('shows its entry where the client was told that it has expired', () => {
    const events = ended('expired');
    expect(merge(events, replayed.events, witnessesOf(events, replayed)).backwards).toHaveLength(1);
  });

  it('shows nothing where the client has closed it, since the ensemble may end it much later', () => {
    const events = ended('closed');
    expect(merge(events, replayed.events, witnessesOf(events, replayed)).backwards).toEqual([]);
  });
});

describe('what was acknowledged', () => {
  it('is a transaction that is at its index, of the same session', () => {
    const transaction = { call: 1, f: 'transaction', operations: [], session: 3 } as const;
    const events = history({ type: 'invoke', ...transaction }, { type: 'ok', ...transaction, index: 5, results: [] });
    const done = { ...write(5, ''), f: 'transaction', path: '', value: undefined } as const;
    expect(witnessesOf(events, log([], done))).toMatchObject({ acknowledged: 1, lost: [], became: new Map([[1, 5]]) });
    for (const other of [
      { ...done, index: 6 },
      { ...done, session: 4 },
      { ...done, refused: 'BAD_VERSION' },
    ]) {
      expect(witnessesOf(events, log([], other)).lost).toHaveLength(1);
    }
  });

  it('is lost when no entry does it', () => {
    const events = history({ type: 'invoke', ...set(1, 'x') }, { type: 'ok', ...set(1, 'x') });
    expect(witnessesOf(events, log([], write(4, 'x')))).toMatchObject({ acknowledged: 1, lost: [] });
    expect(witnessesOf(events, log([]))).toMatchObject({
      acknowledged: 1,
      lost: [expect.stringMatching(/no entry does it/)],
    });
    const refused = { ...write(4, 'x'), refused: 'NOT_FOUND' };
    expect(witnessesOf(events, log([], refused)).lost).toHaveLength(1);
  });

  it('is lost when the lock was granted under another token than was told', () => {
    const events = history(asked, told);
    expect(witnessesOf(events, log([enqueued, granted])).lost).toEqual([]);
    expect(witnessesOf(events, log([enqueued, { ...granted, index: 10, token: 10 } as LogEvent])).lost).toHaveLength(1);
  });

  it('finds a delete by its place among those of its session and path', () => {
    const remove = (call: number) => ({ call, f: 'delete', path: '/a', session: 3 }) as const;
    const events = history(
      { type: 'invoke', ...remove(1) },
      { type: 'fail', ...remove(1), code: 'NOT_FOUND' },
      { type: 'invoke', ...remove(2) },
      { type: 'ok', ...remove(2) },
    );
    const first = { ...write(4, ''), f: 'delete', value: undefined, refused: 'NOT_FOUND' } as const;
    const second = { ...first, index: 6, number: 6, refused: undefined };
    const witnesses = witnessesOf(events, log([], first, second));
    expect(witnesses.lost).toEqual([]);
    expect([...witnesses.shown]).toEqual([[4, 6]]);
    expect(witnessesOf(events, log([], first)).lost).toHaveLength(1);
  });

  it('is an expiry only when an entry ended the session', () => {
    const events = history({ type: 'session', event: 'expired', session: 3 });
    expect(witnessesOf(events, log([expired])).lost).toEqual([]);
    expect(witnessesOf(events, log([])).lost).toEqual(['session 3 was said to have expired, and no entry ends it']);
  });
});
