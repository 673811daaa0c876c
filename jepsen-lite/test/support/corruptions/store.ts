/** What is promised of the fenced store and of registers, broken. */

import type { History, HistoryEvent } from '../../../src/history/history.ts';
import { isRegisterPath } from '../../../src/history/register-paths.ts';
import type { Corruption, Pick } from './corruption.ts';
import { change, insertAfter, ofType } from './edits.ts';

export const STORE_CORRUPTIONS: readonly Corruption[] = [
  {
    what: 'an older token that is accepted late',
    caughtBy: 'fence',
    corrupt: (history, pick) => {
      const accepted = ofType(history, 'accepted').filter(({ bucket }) => bucket !== 'unfenced');
      const late = pick(accepted.filter((event) => accepted.some((other) => isBelow(event, other))));
      const higher = accepted.find((other) => late !== undefined && isBelow(late, other));
      return late && insertAfter(history, higher, late);
    },
  },
  {
    what: 'an older token that a restarted store accepts',
    caughtBy: 'fence',
    corrupt: (history, pick) => {
      const fences = history.filter((event) => event.type === 'ok' && event.f === 'fence');
      const late = pick(fences.filter((event) => fences.some((other) => isBelow(event, other))));
      if (late === undefined) return undefined;
      const again = { ...late, call: 1_000_000 } as HistoryEvent;
      return insertAfter(history, history.at(-1), { ...again, type: 'invoke' } as HistoryEvent, again);
    },
  },
  {
    what: 'a token that nobody granted',
    caughtBy: 'granted-tokens',
    corrupt: (history, pick) => {
      const accepted = pick(ofType(history, 'accepted').filter(({ bucket }) => bucket !== 'unfenced'));
      return change(history, accepted, (event) => ({ ...event, token: event.token + 1_000_000 }));
    },
  },
  {
    what: 'an update that is gone again',
    caughtBy: 'lost-updates',
    corrupt: (history, pick) => readAgainLater(history, pick),
  },
  {
    what: 'a read of a value that nobody has written',
    caughtBy: 'registers',
    corrupt: (history, pick) => {
      const reads = history.filter(
        (event) => event.type === 'ok' && ((event.f === 'read' && isRegisterPath(event.path)) || event.f === 'get'),
      );
      const read = pick(reads);
      return read && history.map((event) => (event === read ? ({ ...read, value: '0:0' } as HistoryEvent) : event));
    },
  },
  {
    what: 'a read of the store that goes back in time',
    caughtBy: 'registers',
    corrupt: (history, pick) => readAgainLater(history, pick),
  },
];

/** A read that showed one state is repeated after another state is known for certain. */
function readAgainLater(history: History, pick: Pick): History | undefined {
  const reads = history.filter((event) => event.type === 'ok' && event.f === 'get');
  const changed = reads.filter((read) =>
    reads.some((other) => other.seq > read.seq && sameRegister(read, other) && valueOf(other) !== valueOf(read)),
  );
  const read = pick(changed);
  if (read === undefined) return undefined;
  const { value: _, ...question } = { ...read, call: 1_000_000 } as HistoryEvent & { readonly value: unknown };
  const again = { ...read, call: 1_000_000 } as HistoryEvent;
  return insertAfter(history, history.at(-1), { ...question, type: 'invoke' } as unknown as HistoryEvent, again);
}

function sameRegister(one: HistoryEvent, other: HistoryEvent): boolean {
  return 'bucket' in one && 'bucket' in other && one.bucket === other.bucket;
}

function valueOf(event: HistoryEvent): unknown {
  return 'value' in event ? event.value : undefined;
}

function isBelow(event: HistoryEvent, other: HistoryEvent): boolean {
  if (!('bucket' in event) || !('bucket' in other) || event.bucket !== other.bucket) return false;
  return tokenOf(event) < tokenOf(other);
}

function tokenOf(event: HistoryEvent): number {
  return ('token' in event ? event.token : undefined) ?? 0;
}
