/** What the measurement of many watches and its process of clients say to each other. */

export type WatchesOrder =
  | { readonly type: 'open'; readonly address: string; readonly connections: number }
  | { readonly type: 'create'; readonly nodes: number; readonly dataBytes: number }
  /** Every node is watched by one of the connections. */
  | { readonly type: 'watch' }
  /** So many of the nodes are changed, twice each: a one-shot watch tells one change. */
  | { readonly type: 'change'; readonly nodes: number };

interface Prepared {
  readonly type: 'opened' | 'created';
}

interface Watching {
  readonly type: 'watching';
  /** From the first message until the last was answered. */
  readonly seconds: number;
  readonly processorSeconds: number;
}

interface Told {
  readonly type: 'told';
  readonly events: number;
}

export type WatchesReport = Prepared | Watching | Told;
