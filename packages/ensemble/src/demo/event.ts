/** What the processes of the demo record, one JSON line each, with the time at which it happened there. */

export const BUCKET_NAMES = ['fenced', 'unfenced'] as const;
export type BucketName = (typeof BUCKET_NAMES)[number];

export type StoryFact =
  | { readonly type: 'connected' }
  | { readonly type: 'waiting' }
  | { readonly type: 'granted'; readonly token: number }
  | { readonly type: 'installed'; readonly token: number }
  | { readonly type: 'read'; readonly bucket: BucketName; readonly value: string | null }
  | { readonly type: 'wrote'; readonly bucket: BucketName; readonly value: string }
  /** What the ensemble says which workers have a session. */
  | { readonly type: 'sessions'; readonly of: readonly string[] }
  /** Its lease was fine a moment before a write. */
  | { readonly type: 'checked' }
  /** The first half of a write has left; the store waits for the rest. */
  | { readonly type: 'writing'; readonly bucket: BucketName; readonly value: string }
  /** The store refused a write. */
  | {
      readonly type: 'refused';
      readonly bucket: BucketName;
      readonly code: string;
      readonly presented: number;
      readonly highest: number;
    }
  /** The handle says that the lock is lost. */
  | { readonly type: 'lost'; readonly reason: string }
  | { readonly type: 'failed'; readonly message: string }
  /** Recorded by the demo itself. */
  | { readonly type: 'stopped' }
  | { readonly type: 'resumed' }
  | { readonly type: 'found'; readonly bucket: BucketName; readonly value: string | null };

export interface StoryEvent {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly who: 'A' | 'B' | 'demo';
  readonly fact: StoryFact;
}

export interface WorkerInstructions {
  readonly who: 'A' | 'B';
  readonly servers: readonly string[];
  readonly fencedKvUrl: string;
  readonly sessionTimeoutMs: number;
  readonly lock: string;
  /** False takes the fence out: nothing is installed and no write carries a token. */
  readonly fence: boolean;
}

/** The lines that a worker obeys on its standard input. */
export type WorkerCommand = 'acquire' | 'open' | 'deposit' | 'begin a deposit' | 'go on' | 'finish';

/** The key that both workers write in both buckets: euros. */
export const KEY = 'balance';
/** What A opens the account with. */
export const OPENING = 100;
export const DEPOSIT_OF_A = 10;
export const DEPOSIT_OF_B = 50;
