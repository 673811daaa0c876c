/**
 * A hold that others may share. Its token is the index of the entry that granted it; its floor is the lowest token of all who hold the lock,
 * and rises as they leave. A resource that was told the floor refuses whatever comes with a lower token: nobody holds the lock with it.
 */

import { HeldLock, type Granted, type HoldKeeper } from '../held-lock.ts';

type FloorListener = (floor: number, token: number) => void;

/**
 * A hold that others may have beside it: what comes with a token below its floor is of nobody who holds the lock.
 *
 * @example
 * const reading: SharedHold = await client.readWriteLock('report').read().acquire();
 * show(`refuse what is below ${reading.floor}`);
 */
export class SharedHold extends HeldLock {
  #floor: number;
  #listeners: Set<FloorListener> | undefined;

  /** @internal */
  constructor(granted: Granted, keeper: HoldKeeper) {
    super(granted, keeper);
    this.#floor = granted.floor;
  }

  /**
   * The lowest token of all who hold the lock, as far as this client was told: never above the present one. An operator's revocation of another
   * holder raises it above that holder's token, and with it the tokens of all who stay.
   */
  get floor(): number {
    return this.#floor;
  }

  /**
   * Calls back when the floor has risen, or the token with it, until what is returned is called. Give both to the resource.
   *
   * @example
   * const stop = held.onFloorRaised((floor) => void store.refuseBelow('reports', floor));
   */
  onFloorRaised(listener: FloorListener): () => void {
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => this.#listeners?.delete(listener);
  }

  /** @internal */
  override raised(token: number, floor: number): void {
    // What was on its way when another answer came may be older.
    if (token < this.token || floor < this.#floor || (token === this.token && floor === this.#floor)) return;
    super.raised(token, floor);
    this.#floor = floor;
    for (const listener of this.#listeners ?? []) listener(floor, token);
  }
}
