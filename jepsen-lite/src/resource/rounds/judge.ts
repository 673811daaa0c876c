/**
 * Judges a round by what was recorded, and by nothing that was meant to happen. A stale write got in when a read shows its value
 *
 * - although a newer token had been written before that read, or
 * - although a newer token had been written or installed before the stale write reached the resource.
 *
 * A write that was acknowledged and that no read shows did not get in; but its holder was told so, and that is not safe either.
 */

import type { InstallEvent, ReadEvent, RoundEvent, WriteEvent } from './event.ts';

export interface Judged {
  /** Stale or racing writes that reads showed when they must not. */
  readonly gotIn: readonly WriteEvent[];
  /** Stale writes, by time: a newer token had been there before they came. */
  readonly stale: readonly WriteEvent[];
  /** Stale writes that were acknowledged, and that no read shows. */
  readonly acknowledged: readonly WriteEvent[];
  /** Reads that show what nobody can have written last. */
  readonly unexpected: readonly ReadEvent[];
  /** Racing writes that were under way at the same time as the newer holder's. */
  readonly overlaps: number;
}

export function judgeRound(events: readonly RoundEvent[]): Judged {
  const writes = events.filter((event) => event.type === 'write');
  const reads = events.filter((event) => event.type === 'read');
  const contacts = events.filter((event) => event.type === 'write' || event.type === 'install').filter(isTaken);
  const stale = writes.filter((write) =>
    contacts.some((contact) => isNewer(contact, write) && contact.endedAt <= write.reachedAt),
  );
  const gotIn = writes.filter((write) => {
    const shown = reads.filter((read) => read.value === write.value);
    if (shown.length === 0) return false;
    if (stale.includes(write)) return true;
    const newer = contacts.filter((contact) => contact.type === 'write' && isNewer(contact, write));
    return shown.some((read) => newer.some(({ endedAt }) => endedAt <= read.calledAt));
  });
  return {
    gotIn,
    stale,
    acknowledged: stale.filter((write) => isTaken(write) && !gotIn.includes(write)),
    unexpected: reads.filter(
      (read) => read.value !== undefined && !mayShow(read, writes) && !gotIn.some(({ value }) => value === read.value),
    ),
    overlaps: writes.filter(({ purpose }) => purpose === 'racing').filter((race) => overlapsNewest(race, writes))
      .length,
  };
}

function isTaken({ outcome }: WriteEvent | InstallEvent): boolean {
  return outcome.type === 'taken';
}

function isNewer(contact: WriteEvent | InstallEvent, write: WriteEvent): boolean {
  return typeof contact.token === 'number' && typeof write.token === 'number' && contact.token > write.token;
}

/** The value of a write that no later one had replaced for sure; before the first, anything. */
function mayShow(read: ReadEvent, writes: readonly WriteEvent[]): boolean {
  const done = writes.filter((write) => isTaken(write) && write.purpose === 'newest' && write.endedAt <= read.calledAt);
  if (done.length === 0) return true;
  const last = done.reduce((latest, write) => (write.calledAt > latest.calledAt ? write : latest));
  return writes.some(
    (write) => write.value === read.value && write.endedAt >= last.calledAt && write.calledAt <= read.endedAt,
  );
}

function overlapsNewest(race: WriteEvent, writes: readonly WriteEvent[]): boolean {
  return writes.some(
    ({ purpose, calledAt, endedAt }) => purpose === 'newest' && calledAt < race.endedAt && race.calledAt < endedAt,
  );
}
