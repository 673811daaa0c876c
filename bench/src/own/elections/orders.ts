/** What the measurement of elections and its candidates say to each other. */

export type CandidateOrder =
  | {
      readonly type: 'campaign';
      readonly servers: readonly string[];
      readonly sessionTimeoutMs: number;
      readonly election: string;
    }
  /** Answered when its first term has begun. */
  | { readonly type: 'lead' };

export interface CandidateReport {
  readonly sessionId: number;
  /** When it was so, by this machine's clock. */
  readonly atMs: number;
}
