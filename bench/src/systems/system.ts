/** What the works need of a system under test: three servers (Redis: one) on ports and data directories of their own. */

import type { SystemName } from '../generator/systems.ts';
import type { Hosts } from './hosts.ts';

/** What a system says of its own progress; null where it does not say. */
export interface Progress {
  readonly commitIndex: number | null;
  /** Durable writes to the log by all servers together. */
  readonly durableWrites: number | null;
}

export interface RunningSystem {
  readonly name: SystemName;
  /** Client addresses, in the order of the servers. */
  readonly addresses: readonly string[];
  /** Every process of the servers that run. */
  pids(): number[];
  /** Position of the leader. */
  leader(): Promise<number>;
  pid(server: number): number;
  progress(): Promise<Progress>;
  /** Ends one server in order and waits until it is gone. */
  stopServer(server: number): Promise<void>;
  /** Starts a server that has ended, and does not wait for it. */
  launchServer(server: number): void;
  /** True once the server serves reads of what it had before it ended. */
  serves(server: number): Promise<boolean>;
  /** Called when a server was killed by somebody else. */
  noteKilled(server: number): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemUnderTest {
  readonly name: SystemName;
  readonly version: string;
  /** What differs from the system's defaults, and why. */
  readonly settings: string;
  /** @param hosts where its servers run. @default all on the loopback */
  start(directory: string, hosts?: Hosts): Promise<RunningSystem>;
}
