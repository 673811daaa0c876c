/** Who follows the bucket `b`, over restarts of the store: what it was told, and whether it has missed something. */

import type { Revision } from '../../src/changes/revision.ts';
import type { FencedStore } from '../../src/fenced-store.ts';
import { RefusedError } from '../../src/refusal.ts';

export class Follower {
  readonly told: Revision[] = [];
  /** The last revision that it knows. */
  last = 0;
  /** What was told out of turn. */
  readonly violations: string[] = [];

  /** Goes on behind what it knows. False where the store does not remember what came since; the follower begins anew then. */
  follow(store: FencedStore, present: number): boolean {
    const known = this.#resume(store);
    if (known !== undefined) this.#listen(known);
    // Whoever is told so reads the bucket anew, and is where that is.
    else this.last = present;
    if (known === undefined) this.#listen(store.follow('b', present));
    return known !== undefined;
  }

  #resume(store: FencedStore): ReturnType<FencedStore['follow']> | undefined {
    try {
      return store.follow('b', this.last);
    } catch (error) {
      if (error instanceof RefusedError && error.refusal.code === 'MISSED') return undefined;
      throw error;
    }
  }

  #listen(followed: ReturnType<FencedStore['follow']>): void {
    for (;;) {
      const following = followed.after(this.last);
      if (following.type === 'missed') {
        this.violations.push(`missed something behind ${this.last} while it followed`);
        return;
      }
      if (following.revisions.length === 0) break;
      for (const each of following.revisions) {
        if (each.revision !== this.last + 1) this.violations.push(`${each.revision} was told behind ${this.last}`);
        this.told.push(each);
        this.last = each.revision;
      }
    }
    followed.onNext(() => this.#listen(followed));
  }
}
