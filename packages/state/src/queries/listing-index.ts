/**
 * The keys of a table in order, so that a page costs what is on it and not the whole table. It begins with the first listing, in slices, and
 * ends when nobody has listed for long: until then, and again from then on, changes of the table cost nothing. Replicated nowhere, and
 * nothing that a page shows depends on it.
 *
 * Sorted runs of a few thousand keys each. A key that is gone from the table stays in its run and is passed over; one that is new waits
 * among the fresh ones; with too many of either the index is made anew.
 */

/** What a listing may be over: a Map, say. */
export interface Listed<K> {
  readonly size: number;
  /** Goes on over what is added meanwhile; may have keys that are gone. */
  keys(): Iterator<K>;
  has(key: K): boolean;
}

/** Keys that are sorted at once: about a millisecond. */
export const INDEX_SLICE_KEYS = 4_096;
/** So many fresh keys become a run. */
const FRESH_RUN_KEYS = 512;
/** Runs of fresh keys, beside those that the table fills. */
const MAX_EXTRA_RUNS = 64;
/** Changes since the last listing after which the index is given up. */
const MAX_UNLISTED_CHANGES = 65_536;

export interface KeysOfPage<K> {
  /** In order. */
  readonly keys: readonly K[];
  readonly more: boolean;
}

export class ListingIndex<K extends string | number> {
  readonly #table: Listed<K>;
  /** Undefined while nobody lists. */
  #runs: K[][] | undefined;
  /** Until the table has been read to its end. */
  #reading: Iterator<K> | undefined;
  #fresh = new Set<K>();
  #changes = 0;
  /** Keys in runs that are gone, at most. */
  #gone = 0;

  constructor(table: Listed<K>) {
    this.#table = table;
  }

  /** Whether the table is being read: what comes meanwhile is expected from there. */
  get reading(): boolean {
    return this.#reading !== undefined;
  }

  /** To be notified of every key that comes into the table. */
  added(key: K): void {
    if (this.#runs === undefined) return;
    // Reading the table will come by it.
    if (this.#reading === undefined) this.#fresh.add(key);
    this.#changed();
  }

  /** To be notified of every key that goes. */
  removed(): void {
    if (this.#runs === undefined) return;
    this.#gone += 1;
    this.#changed();
  }

  /** What reads the keys of the table does not hear any more of those that come. */
  tableMoved(): void {
    if (this.#reading !== undefined) this.#begin();
  }

  /** A slice of the work that a page needs first; true when that is done. Nothing may change between that and the page. */
  prepare(): boolean {
    this.#changes = 0;
    if (this.#reading === undefined && (this.#runs === undefined || this.#isWorn(this.#runs))) this.#begin();
    if (this.#reading === undefined) return true;
    const run: K[] = [];
    while (run.length < INDEX_SLICE_KEYS) {
      const next = this.#reading.next();
      if (next.done === true) {
        this.#reading = undefined;
        break;
      }
      run.push(next.value);
    }
    this.#addRun(run);
    return this.#reading === undefined;
  }

  /** The first `count` keys after `after`, or from `from` on if that is later, as long as they are `within`, which they are without a gap. */
  page(after: K, from: K, count: number, within: (key: K) => boolean): KeysOfPage<K> {
    while (!this.prepare());
    const fresh = sorted([...this.#fresh]);
    const kept: K[] = [];
    let bound: K | undefined;
    const cut = (): void => {
      sorted(kept);
      removeRepeats(kept);
      if (kept.length <= count) return;
      kept.length = count + 1;
      bound = kept[count];
    };
    for (const run of [...(this.#runs ?? []), fresh]) {
      for (let at = place(run, after, from); at < run.length; at += 1) {
        const key = run[at];
        if (key === undefined || (bound !== undefined && key >= bound) || !within(key)) break;
        if (!this.#table.has(key)) continue;
        kept.push(key);
        if (kept.length > 2 * count + 2) cut();
      }
    }
    cut();
    if (fresh.length >= FRESH_RUN_KEYS) {
      this.#addRun(fresh);
      this.#fresh = new Set();
    }
    return { keys: kept.slice(0, count), more: kept.length > count };
  }

  #begin(): void {
    this.#runs = [];
    this.#fresh = new Set();
    this.#gone = 0;
    this.#reading = this.#table.keys();
  }

  #isWorn(runs: readonly K[][]): boolean {
    const needed = this.#table.size / INDEX_SLICE_KEYS;
    return runs.length > 2 * needed + MAX_EXTRA_RUNS || this.#gone > this.#table.size / 4 + INDEX_SLICE_KEYS;
  }

  #addRun(run: K[]): void {
    if (run.length > 0) this.#runs?.push(sorted(run));
  }

  #changed(): void {
    this.#changes += 1;
    if (this.#changes < MAX_UNLISTED_CHANGES) return;
    this.#runs = undefined;
    this.#reading = undefined;
    this.#fresh = new Set();
  }
}

/** By code units or by value; in place. */
function sorted<K extends string | number>(keys: K[]): K[] {
  return keys.sort((left, right) => {
    if (left === right) return 0;
    return left < right ? -1 : 1;
  });
}

function removeRepeats<K>(keys: K[]): void {
  let end = 0;
  for (const key of keys) {
    if (end > 0 && keys[end - 1] === key) continue;
    keys[end] = key;
    end += 1;
  }
  keys.length = end;
}

/** Where in the run the first key is that is after `after` and not before `from`. */
function place<K extends string | number>(run: readonly K[], after: K, from: K): number {
  let low = 0;
  let high = run.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = run[middle];
    if (key !== undefined && (key <= after || key < from)) low = middle + 1;
    else high = middle;
  }
  return low;
}
