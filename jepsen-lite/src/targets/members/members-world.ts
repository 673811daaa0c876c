/** What changes of the members need of a target: its servers, as a service manager has them, and what the ensemble says of its members. */

import type { Runtime } from '@holdfast/runtime';
import type { Effect } from '../../nemeses/target.ts';

export interface ChangingServer {
  readonly id: number;
  /** It was started at least once, or is to run from the beginning. */
  readonly begun: boolean;
  /** It runs, and was not told to stop. */
  readonly serves: boolean;
  /** It has ended because the ensemble goes on without it. */
  readonly expelled: boolean;
  /** Its disk was replaced by an empty one. */
  readonly diskLost: boolean;
  /** Its log has lost what only an operator could make good, or a leader has not sent again yet. */
  readonly damaged: boolean;
  /** Undefined unless it runs and waits to be added. */
  readonly joinSecret: string | undefined;
  /** It joins, and has not got the log of an ensemble as far as anybody can see. */
  readonly mayWait: boolean;
  /** The first start of a server that joins. */
  begin(): void;
  /** The machine gets an empty disk, and its service manager does not know. */
  loseDisk(): void | Promise<void>;
}

export interface MembersWorld {
  /** The operator's machine. */
  readonly runtime: Runtime;
  /** Servers that the cluster began with. */
  readonly founders: number;
  /** Clients are told of these only. */
  readonly founderMustStay: boolean;
  /** By host, those that may join among them. */
  readonly servers: ReadonlyMap<string, ChangingServer>;
  /** Whoever leads, by its number. */
  readonly leader: number | undefined;
  /** Of the configuration in force. */
  readonly members: readonly { readonly id: number; readonly role: string }[];
  /** Where servers may be found now. */
  clientAddresses(): readonly string[];
  peerAddress(id: number): string;
  /** Whether all these know the data directory of the server. */
  directoryIsKnown(id: number, others: readonly number[]): boolean;
  /** It runs, and nobody has sent it anything yet. */
  hasNoLog(id: number): boolean;
  /** In the target's time, from now. */
  after(ms: number, action: () => void): void;
  count(effect: Effect): void;
  /** So many more changes are under way. */
  changing(by: 1 | -1): void;
  /** It is about to be asked for. */
  transferring(): void;
  removing(id: number): void;
  losingDisk(id: number): void;
  fail(name: string, message: string): void;
}
