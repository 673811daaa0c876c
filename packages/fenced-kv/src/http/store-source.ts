/** Which store answers: one that is there from start to end, or that of a replica while it is the primary of its group. */

import type { FencedStore } from '../fenced-store.ts';

/** The store that answers a request. */
export interface Served {
  readonly store: FencedStore;
  /** Under which a replica serves; undefined: the store is of no group. */
  readonly epoch: number | undefined;
  /** What is read after it is the newest in the group. Rejects with EngineError. Undefined: what is read always is. */
  readonly confirm: (() => Promise<void>) | undefined;
}

/** Where clients of a group go. */
export interface PrimaryAddress {
  readonly replica: string;
  /** null: it has not told its address yet. */
  readonly url: string | null;
}

/** What a replica knows of its group, for those who watch it. */
export interface GroupFacts {
  readonly group: string;
  readonly replica: string;
  /** `claiming`: the configuration is to name it, or names it, and it does not serve yet. */
  readonly role: 'replica' | 'claiming' | 'primary';
  /** Of the configuration that it knows; 0: of none. */
  readonly epoch: number;
  /** As that configuration says; it may be that nobody serves. null: none is known. */
  readonly primary: PrimaryAddress | null;
  readonly inSync: readonly string[];
  /** The last entry of its log. */
  readonly lastIndex: number;
  /** The last one that it knows to be acknowledged. */
  readonly committedIndex: number;
  /** It is being given a copy, and has only a part of the buckets. */
  readonly copying: boolean;
}

export interface StoreSource {
  /** @throws NotPrimaryError */
  present(): Served;
  /** Undefined: the store is of no group. */
  readonly group: GroupFacts | undefined;
}

/** A store of no group. */
export function onlyStore(store: FencedStore): StoreSource {
  const served: Served = { store, epoch: undefined, confirm: undefined };
  return { present: () => served, group: undefined };
}

/** Another replica is to be asked. */
export class NotPrimaryError extends Error {
  readonly code = 'NOT_PRIMARY';
  readonly primary: PrimaryAddress | null;
  readonly epoch: number;
  /** A write may have happened, or may happen yet. */
  readonly indeterminate: boolean;

  constructor(facts: Pick<GroupFacts, 'replica' | 'primary' | 'epoch'>, { indeterminate = false } = {}) {
    const outcome = indeterminate ? '; what was asked for may have happened, or may happen yet' : '';
    super(`replica ${facts.replica} does not serve${outcome}; ${advice(facts)}`);
    this.name = 'NotPrimaryError';
    this.primary = facts.primary;
    this.epoch = facts.epoch;
    this.indeterminate = indeterminate;
  }
}

function advice({ replica, primary, epoch }: Pick<GroupFacts, 'replica' | 'primary' | 'epoch'>): string {
  if (primary === null) return 'it knows of no primary yet: ask again, or another replica of the group';
  if (primary.replica === replica) return `it is to be the primary in epoch ${epoch} and is not ready: ask again`;
  const where = primary.url === null ? `replica ${primary.replica}` : `${primary.replica} at ${primary.url}`;
  return `the primary in epoch ${epoch} is ${where}`;
}
