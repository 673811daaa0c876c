/**
 * Buckets that are bound to a lock take no token's word for it. What is higher than anything they know is confirmed at the ensemble first:
 * by a look at the lock that begins after the request came and shows every grant before. A floor is confirmed that fences off nobody
 * who holds the lock, nor any later holder; a token, that the lock has given. What the bucket knows already needs no look, so that writes
 * go on while the ensemble cannot be reached.
 */

import type { BucketRecord } from './bucket-record.ts';
import type { Claim } from './fence.ts';
import { MAX_CONFIRMED_BUCKETS, MAX_LOOKS } from './limits.ts';
import { RefusedError } from './refusal.ts';
import type { Refusal } from './refusal.ts';

/** What a look at a lock has shown. */
export interface LockLook {
  /** The lowest and the highest token under which it is held; undefined where nobody holds it. */
  readonly held: { readonly lowest: number; readonly highest: number } | undefined;
  /** The log index that the look shows: every later grant has a higher token. */
  readonly index: number;
}

export interface LockAuthority {
  /** A linearizable look at the lock, begun after the call. Rejects with {@link AuthorityError}, or {@link RefusedError} for a lock that cannot be. */
  look(lock: string): Promise<LockLook>;
}

/** The ensemble could not be asked. Nothing of the request happened; the same one may succeed later. */
export class AuthorityError extends Error {
  readonly code = 'ENSEMBLE_UNREACHABLE';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AuthorityError';
  }
}

/** Why a claim is not to be believed; undefined where it is. */
export function judgeClaim(lock: string, { token, floor }: Claim, { held, index }: LockLook): Refusal | undefined {
  const newest = held?.highest ?? index;
  if (token > newest) return { code: 'TOKEN_NOT_GRANTED', lock, presented: token, newest };
  // Where nobody holds the lock, whoever had it last may still say so: the next one's token is higher.
  const lowest = held?.lowest ?? index;
  return floor > lowest ? { code: 'FLOOR_TOO_HIGH', lock, presented: floor, lowest } : undefined;
}

/** Looks at locks since the start. */
export interface LookFigures {
  readonly answered: number;
  readonly failed: number;
}

export interface ConfirmerOptions {
  /** Where locks can be looked at; without it nothing new of a bound bucket is confirmed. */
  readonly authority?: LockAuthority | undefined;
  /** Buckets without a lock take nothing new. @default false */
  readonly demandLocks?: boolean | undefined;
}

export class Confirmer {
  readonly #options: ConfirmerOptions;
  readonly #looks: SharedLooks | undefined;
  /** The highest token that was confirmed, by bucket; of who shares a lock it is above the bucket's highest floor. */
  readonly #confirmed = new Map<string, number>();
  /** How often something was forgotten: what a look of before has shown may be of another lock. */
  #forgotten = 0;

  constructor(options: ConfirmerOptions = {}) {
    this.#options = options;
    this.#looks = options.authority === undefined ? undefined : new SharedLooks(options.authority);
  }

  get looks(): LookFigures {
    return this.#looks?.figures ?? { answered: 0, failed: 0 };
  }

  /** The lock that must be looked at before the claim may be judged; undefined where it claims nothing new. @throws RefusedError */
  lockToAsk(bucket: string, { lock, highest }: BucketRecord, { token, floor }: Claim): string | undefined {
    // Refused all the same, as stale.
    if (token < highest) return undefined;
    if (lock === undefined) {
      if (this.#options.demandLocks !== true || token === highest) return undefined;
      throw new RefusedError({ code: 'BUCKET_NOT_BOUND', bucket });
    }
    const known = Math.max(highest, this.#confirmed.get(bucket) ?? 0);
    return floor > highest || token > known ? lock : undefined;
  }

  /** Resolves when the ensemble has confirmed the claim. Rejects with {@link RefusedError}, and with {@link AuthorityError}. */
  async confirm(bucket: string, lock: string, claim: Claim): Promise<void> {
    if (this.#looks === undefined) {
      throw new AuthorityError(
        `bucket "${bucket}" takes the tokens of lock "${lock}", and this server knows no ensemble to ask; start fenced-kvd with --ensemble`,
      );
    }
    const forgotten = this.#forgotten;
    const refusal = judgeClaim(lock, claim, await this.#looks.look(lock));
    if (refusal !== undefined) throw new RefusedError(refusal);
    if (forgotten !== this.#forgotten) return;
    const before = this.#confirmed.get(bucket) ?? 0;
    // The last to be confirmed is the last to be forgotten; what is forgotten is asked for again.
    this.#confirmed.delete(bucket);
    this.#confirmed.set(bucket, Math.max(before, claim.token));
    const [oldest] = this.#confirmed.keys();
    if (this.#confirmed.size > MAX_CONFIRMED_BUCKETS && oldest !== undefined) this.#confirmed.delete(oldest);
  }

  /** An operator has bound the bucket to another lock, or reset its fence: what is new to it is asked for again. */
  forget(bucket: string): void {
    this.#confirmed.delete(bucket);
    this.#forgotten += 1;
  }
}

interface Line {
  underWay: Promise<LockLook>;
  next: Promise<LockLook> | undefined;
}

/** One look at a lock at a time. Who comes meanwhile shares the next one: that under way may miss what was granted since it began. */
class SharedLooks {
  readonly #authority: LockAuthority;
  readonly #lines = new Map<string, Line>();
  #answered = 0;
  #failed = 0;

  constructor(authority: LockAuthority) {
    this.#authority = authority;
  }

  get figures(): LookFigures {
    return { answered: this.#answered, failed: this.#failed };
  }

  async look(lock: string): Promise<LockLook> {
    const line = this.#lines.get(lock);
    if (line === undefined) {
      if (this.#lines.size >= MAX_LOOKS) {
        throw new AuthorityError(`${MAX_LOOKS} other locks are being looked at already; try again later`);
      }
      return await this.#begin(lock);
    }
    line.next ??= line.underWay.then(
      () => this.#begin(lock),
      () => this.#begin(lock),
    );
    return await line.next;
  }

  #begin(lock: string): Promise<LockLook> {
    const underWay = this.#authority.look(lock);
    const line: Line = { underWay, next: undefined };
    this.#lines.set(lock, line);
    const ended = (): void => {
      if (line.next === undefined) this.#lines.delete(lock);
    };
    underWay.then(
      () => {
        this.#answered += 1;
        ended();
      },
      () => {
        this.#failed += 1;
        ended();
      },
    );
    return underWay;
  }
}
