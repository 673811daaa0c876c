/**
 * What the ensemble has told of one hold since it was granted: the floor of its lock, which never falls, and whether others wait. Kept from the
 * grant on, also while the hold is still to be handed out; the entries of a reentrant lock share it.
 */

import type { Wanted } from '../wanted.ts';

export class HoldNews {
  /** Of several locks at once, those that others may hold, too, with the floor of each. */
  readonly #floors: Map<string, number> | undefined;
  readonly #shared: boolean;
  #floor = 0;
  #contended = false;
  #aborter: AbortController | undefined;

  constructor({ locks, shared }: Wanted) {
    this.#shared = shared.length > 0;
    if (locks.length > 1) this.#floors = new Map(shared.map((lock) => [lock, 0]));
  }

  get floor(): number {
    return this.#floor;
  }

  get contended(): boolean {
    return this.#contended;
  }

  /** Aborts when others wait. */
  get contendedSignal(): AbortSignal {
    this.#aborter ??= new AbortController();
    if (this.#contended && !this.#aborter.signal.aborted) this.#aborter.abort();
    return this.#aborter.signal;
  }

  /** `floor`: as the grant says it; undefined where it does not. */
  granted(token: number, floor: number | undefined): void {
    // Below its own token there is nobody who holds it beside one who holds it alone.
    const known = this.#shared ? (floor ?? 0) : token;
    const floors = this.#floors;
    if (floors !== undefined) for (const lock of floors.keys()) floors.set(lock, known);
    this.#rise(known);
  }

  floorRaised(lock: string, floor: number): void {
    const floors = this.#floors;
    if (floors === undefined) {
      this.#rise(floor);
      return;
    }
    const before = floors.get(lock);
    if (before === undefined) return;
    floors.set(lock, Math.max(before, floor));
    this.#rise(Math.min(...floors.values()));
  }

  othersWait(): void {
    if (this.#contended) return;
    this.#contended = true;
    this.#aborter?.abort();
  }

  #rise(floor: number): void {
    this.#floor = Math.max(this.#floor, floor);
  }
}
