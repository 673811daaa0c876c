/** What holders have installed, so that it is not done at each call. */

import type { Holder } from '../holder.ts';

/** Floors that were installed, by resource, holder and scope: floors only rise, so that further calls of a holder need not install again. */
export class InstalledFloors {
  readonly #holders = new WeakMap<object, WeakMap<Holder, Map<string, number>>>();

  /** By scope. */
  of(resource: object, holder: Holder): Map<string, number> {
    const known = this.#holders.get(resource)?.get(holder);
    if (known !== undefined) return known;
    const holders = this.#holders.get(resource) ?? new WeakMap<Holder, Map<string, number>>();
    const scopes = new Map<string, number>();
    this.#holders.set(resource, holders.set(holder, scopes));
    return scopes;
  }
}
