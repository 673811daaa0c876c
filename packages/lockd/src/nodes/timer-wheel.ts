/**
 * When what is due, to a tick: a hashed wheel without a bound (Varghese and Lauck), so that a deadline is set, moved and dropped at the same
 * small cost however many there are. Nothing is due before its time, and nothing later than a tick after it.
 */

export class TimerWheel<K> {
  readonly #tickMs: number;
  /** By the tick at which they are due. */
  readonly #slots = new Map<number, Set<K>>();
  readonly #tickOf = new Map<K, number>();
  /** All earlier ticks are over. */
  #next: number;

  constructor(tickMs: number, nowMs: number) {
    this.#tickMs = tickMs;
    this.#next = Math.floor(nowMs / tickMs);
  }

  get size(): number {
    return this.#tickOf.size;
  }

  /** In place of an earlier deadline. */
  set(key: K, dueMs: number, nowMs: number): void {
    this.delete(key);
    // Nobody has looked while there was nothing.
    if (this.size === 0) this.#next = Math.floor(nowMs / this.#tickMs);
    // What is over already is due at the next look.
    const tick = Math.max(this.#next, Math.ceil(dueMs / this.#tickMs));
    this.#tickOf.set(key, tick);
    const slot = this.#slots.get(tick);
    if (slot === undefined) this.#slots.set(tick, new Set([key]));
    else slot.add(key);
  }

  delete(key: K): void {
    const tick = this.#tickOf.get(key);
    if (tick === undefined) return;
    this.#tickOf.delete(key);
    const slot = this.#slots.get(tick);
    slot?.delete(key);
    if (slot?.size === 0) this.#slots.delete(tick);
  }

  /** What is due, at most so many; they are in the wheel no more. */
  take(nowMs: number, count: number): K[] {
    const taken: K[] = [];
    if (this.size === 0) return taken;
    const last = Math.floor(nowMs / this.#tickMs);
    for (; this.#next <= last; this.#next += 1) {
      for (const key of this.#slots.get(this.#next) ?? []) {
        if (taken.length === count) return taken;
        taken.push(key);
        this.delete(key);
      }
    }
    return taken;
  }
}
