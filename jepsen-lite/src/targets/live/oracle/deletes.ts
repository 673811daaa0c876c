/**
 * Which entry each delete of a session became. A delete writes nothing by which it could be known again: only that the requests of a
 * session are applied in the order of its calls, and whether each found something. A call that was given up may have become an entry or
 * not; so there can be several ways to lay calls and entries side by side, and only what is the same in all of them is known.
 */

/** What a client was told: it is done; there was nothing to delete; nobody knows whether it was tried. */
export type DeleteAnswer = 'done' | 'not-found' | 'unknown';

/** The place of the entry; `somewhere`: one of several, and nobody can say which; `nowhere`: no entry can be it. */
export type DeletePlace = number | 'somewhere' | 'nowhere';

/**
 * @param calls of one session and path, in their order
 * @param entries of the same, in the order of the log: whether each deleted something
 * @returns for each call
 */
export function placesOfDeletes(calls: readonly DeleteAnswer[], entries: readonly boolean[]): DeletePlace[] {
  const fits = (call: DeleteAnswer, place: number): boolean =>
    place < entries.length && (call === 'unknown' || entries[place] === (call === 'done'));
  // Before each call: how many entries the calls before it may have become.
  const before: Set<number>[] = [new Set([0])];
  const lost = new Set<number>();
  for (const [n, call] of calls.entries()) {
    const reached = before[n] ?? new Set();
    const next = new Set(call === 'unknown' ? reached : []);
    for (const place of reached) if (fits(call, place)) next.add(place + 1);
    // What no entry can be leaves the others where they are.
    if (next.size === 0) lost.add(n);
    before.push(next.size === 0 ? reached : next);
  }
  // After the last call as many entries as possible are explained.
  let after = new Set([Math.max(...(before[calls.length] ?? [0]))]);
  const places: DeletePlace[] = [];
  for (let n = calls.length - 1; n >= 0; n -= 1) {
    const call = calls[n] ?? 'unknown';
    if (lost.has(n)) {
      places.unshift('nowhere');
      continue;
    }
    const became = [...(before[n] ?? [])].filter((place) => after.has(place + 1) && fits(call, place));
    const skipped = call === 'unknown' ? [...(before[n] ?? [])].filter((place) => after.has(place)) : [];
    const [only] = became;
    if (only === undefined) places.unshift('nowhere');
    else places.unshift(became.length > 1 || skipped.length > 0 ? 'somewhere' : only);
    after = new Set([...became, ...skipped]);
  }
  return places;
}
