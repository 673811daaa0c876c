/**
 * Sessions, locks and ephemeral nodes as plainly as they can be said: arrays that are searched from end to end. Says for each
 * command what a correct state machine answers and whom it grants.
 */

export interface ModelAcquire {
  readonly session: number;
  readonly lock: string;
  readonly acquireIndex: number;
  /** 0 while it waits. */
  token: number;
}

export interface ModelGrant {
  readonly session: number;
  readonly lock: string;
  readonly acquireIndex: number;
  readonly token: number;
}

export class LockModel {
  readonly sessions = new Set<number>();
  /** Waits and holds of all locks, by acquire index. */
  acquires: ModelAcquire[] = [];
  /** Paths of ephemeral nodes by owner, and of persistent ones by 0. */
  nodes: { readonly path: string; readonly owner: number }[] = [];
  /** Each lock's highest token ever, which outlives the lock. */
  readonly highestTokens = new Map<string, number>();

  queue(lock: string): ModelAcquire[] {
    return this.acquires.filter((acquire) => acquire.lock === lock);
  }

  of(session: number): ModelAcquire[] {
    return this.acquires.filter((acquire) => acquire.session === session);
  }

  locks(): string[] {
    return [...new Set(this.acquires.map(({ lock }) => lock))].sort();
  }

  find(session: number, lock: string, acquireIndex: number): ModelAcquire | undefined {
    return this.of(session).find((acquire) => acquire.lock === lock && acquire.acquireIndex === acquireIndex);
  }

  enqueue(session: number, lock: string, index: number): ModelAcquire {
    const acquire = { session, lock, acquireIndex: index, token: 0 };
    this.acquires.push(acquire);
    this.grant(index);
    return acquire;
  }

  remove(gone: (acquire: ModelAcquire) => boolean): void {
    this.acquires = this.acquires.filter((acquire) => !gone(acquire));
  }

  end(session: number): void {
    this.sessions.delete(session);
    this.remove((acquire) => acquire.session === session);
    this.nodes = this.nodes.filter(({ owner }) => owner !== session);
  }

  /** Grants every lock whose first acquire waits. @throws Error when a lock's tokens do not rise. */
  grant(index: number): ModelGrant[] {
    const grants: ModelGrant[] = [];
    for (const lock of this.locks()) {
      const [head] = this.queue(lock);
      if (head === undefined || head.token !== 0) continue;
      head.token = index;
      if (index <= (this.highestTokens.get(lock) ?? 0)) throw new Error(`the tokens of ${lock} do not rise`);
      this.highestTokens.set(lock, index);
      grants.push({ session: head.session, lock, acquireIndex: head.acquireIndex, token: index });
    }
    return grants;
  }
}
