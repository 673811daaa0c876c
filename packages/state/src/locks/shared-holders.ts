/**
 * The holders of a lock that several may hold at once. They stand in the order of their acquires, in which they were granted: so the first
 * has the lowest token, the floor.
 */

import type { LockRequest } from '@holdfast/protocol';

import { AcquireList, type Listed } from './acquire-list.ts';

interface Holder<T extends Listed<T>> extends Listed<T> {
  request: LockRequest;
  readonly token: number;
}

export class SharedHolders<T extends Holder<T>> extends AcquireList<T> {
  readonly #share: (request: LockRequest) => number;
  #taken = 0;
  /** As the holders know it. */
  #toldFloor = 0;

  constructor(share: (request: LockRequest) => number) {
    super();
    this.#share = share;
  }

  override get taken(): number {
    return this.#taken;
  }

  /** 0 where nobody holds. */
  get floor(): number {
    return this.first?.token ?? 0;
  }

  /** Who is granted is told the floor with it. */
  override append(holder: T): void {
    super.append(holder);
    this.#taken += this.#share(holder.request);
    if (this.size === 1) this.#toldFloor = holder.token;
  }

  override remove(holder: T): void {
    super.remove(holder);
    this.#taken -= this.#share(holder.request);
  }

  /** It asks for something else from now on. */
  convert(holder: T, request: LockRequest): void {
    this.#taken += this.#share(request) - this.#share(holder.request);
    holder.request = request;
  }

  /** True once after it has risen under who holds. */
  tellFloor(): boolean {
    const { floor } = this;
    const risen = floor !== 0 && floor !== this.#toldFloor;
    this.#toldFloor = floor;
    return risen;
  }
}
