/** What a usurper's process is told as its argument, and the lines that it prints. */

export interface UsurperOrder {
  readonly server: number;
  readonly clusterId: string;
  /** By number. */
  readonly peerAddresses: Readonly<Record<number, string>>;
}

export type UsurperReport =
  | { readonly type: 'listens' }
  | { readonly type: 'misled'; readonly server: number }
  /** News of an expulsion was heard. */
  | { readonly type: 'forged' };

/** Of whoever has no such address: nothing listens there. */
export const NOBODY = '127.0.0.1:9';
