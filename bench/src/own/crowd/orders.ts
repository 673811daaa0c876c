/** What the crowd's coordinator and its client processes say to each other. */

export type CrowdOrder =
  | {
      readonly type: 'gather';
      readonly servers: readonly string[];
      readonly sessions: number;
      readonly sessionTimeoutMs: number;
      /** Of every lock and node, so that processes do not meet. */
      readonly prefix: string;
    }
  /** The leader was killed at `sinceMs` of the wall clock, which all processes share: every session asks for one write. */
  | { readonly type: 'struck'; readonly sinceMs: number };

interface Gathered {
  readonly type: 'gathered';
  readonly ms: number;
}

export interface Served {
  readonly type: 'served';
  /** From the kill to each session's answer, in rising order; of those that got none, nothing. */
  readonly ms: readonly number[];
  readonly expired: number;
  /** How long sessions were without a server, in rising order. */
  readonly suspendedMs: readonly number[];
  /** Why servers could not be reached, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  readonly processorSeconds: number;
}

export type CrowdReport = Gathered | Served;
