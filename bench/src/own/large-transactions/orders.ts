/** What the measurement of large transactions and its process of clients say to each other. */

export type LargeTransactionsOrder =
  | { readonly type: 'open'; readonly servers: readonly string[] }
  /** In transactions of a fourth of them each. */
  | { readonly type: 'create'; readonly nodes: number }
  /** All of them, in one transaction. */
  | { readonly type: 'delete' };

export interface LargeTransactionsReport {
  readonly type: 'opened' | 'created' | 'deleted';
  /** From the first request to the last answer. */
  readonly ms: number;
}
