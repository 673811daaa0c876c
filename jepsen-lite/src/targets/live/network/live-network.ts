/**
 * The hosts of a live run and what lies between them: namespaces with links of their own, or this machine's loopback. Where a run needs
 * it, proxies lie between the hosts (proxy/proxied-network.ts): they make links slow, and on the loopback they cut and reset them.
 */

import type { Capabilities, Done, Effect } from '../../../nemeses/target.ts';

/** From, to. */
export type Pair = readonly [string, string];

export interface LinkFaults {
  /** Nothing comes from one host to another: all pairs at once. */
  cut(pairs: readonly Pair[]): Done;
  mend(pairs: readonly Pair[]): Done;
  /** Of what is sent this share is dropped, or, where packets cannot be, waits as if it had to be sent again. */
  setPacketLoss(share: number): Done;
  /** What is under way between these two is reset, at each end when it next hears from the other. Resolves when that is over. */
  reset(one: string, other: string): Done;
  /** Everything that arrives, a packet or what a proxy reads at once, resets its connection with this chance. */
  setLoss(chance: number): Done;
  setDials(mode: 'normal' | 'refused' | 'hanging', from: string, to: string): Done;
}

export interface LinkDelays extends Pick<Capabilities['delays'], 'clog' | 'slow'> {
  /** So many bytes a second get from one host to another. Undefined: as many as anybody sends. */
  limit(from: string, to: string, bytesPerSecond: number | undefined): Done;
}

export interface LiveNetwork {
  /** Where the host's programs listen, and from where they dial. */
  address(host: string, port: number): string;
  /** What goes before a command that is to run on that host. */
  inside(host: string): readonly string[];
  /** `base` with what a program on that host needs, so that its dials find their way. */
  environment(host: string, base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /** Undefined: its links cannot be struck. */
  readonly links: LinkFaults | undefined;
  /** Undefined: its links cannot be slow. */
  readonly delays: LinkDelays | undefined;
  /** How often each effect of its faults was seen so far: the kernel counts packets, a proxy what it has kept. */
  struck(): ReadonlyMap<Effect, number>;
  /** As without faults. */
  heal(): Done;
  /** Removes everything. Processes on it must have ended. */
  close(): void;
}
