/** One living session: who it is, what of its requests has been applied, and its nodes, which go with it. Of locks it knows nothing. */

import type { EndReason } from '@holdfast/protocol';

import type { NodeSlot } from '../tree/node-store.ts';
import type { ReplyBudget } from './reply-budget.ts';
import { ReplyCache } from './reply-cache.ts';

export interface NewSession {
  /** Index of the entry that creates it. */
  readonly id: number;
  readonly secretHash: string;
  readonly timeoutMs: number;
  readonly label: string;
  readonly createdAt: number;
  /** The one through which it was attached. */
  readonly server: number;
}

/** A session that is over, while nodes of it are left. */
export interface Ending {
  readonly reason: EndReason;
  /** The number of its own request to close it, which is answered when nothing is left; 0 for none. */
  readonly number: number;
}

export class Session {
  readonly id: number;
  readonly secretHash: string;
  readonly timeoutMs: number;
  readonly label: string;
  readonly createdAt: number;
  /** At which it was attached last: what comes through another is not its client's. */
  server: number;
  /** Rises with each attach; requests of earlier attachments are refused. */
  generation = 1;
  readonly cache: ReplyCache;
  /** Ephemeral nodes but for queue nodes. In no particular order. */
  readonly ephemerals = new Set<NodeSlot>();
  /** What LockTable keeps of the session, and nobody else reads: beside it, since each request of a lock would look it up elsewhere. */
  locks: object | undefined;
  /** Nothing can be asked through it any more, and nothing renews it. Set by SessionTable. */
  ending: Ending | undefined;

  constructor(options: NewSession, budget: ReplyBudget) {
    this.cache = new ReplyCache(budget);
    this.id = options.id;
    this.secretHash = options.secretHash;
    this.timeoutMs = options.timeoutMs;
    this.label = options.label;
    this.createdAt = options.createdAt;
    this.server = options.server;
  }
}
