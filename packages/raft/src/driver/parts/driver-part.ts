/**
 * A part of a replica's driver, as the list of all parts knows it (driver-parts.ts): it says what it wants to hear, of peers and of turns,
 * and hears nothing else.
 */

import type { Entry, ServerId, WriteSeq } from '../../core/index.ts';
import type { PeerMeshEvents } from '../../peers/peer-mesh.ts';

export interface DriverPart extends Partial<PeerMeshEvents> {
  /** A removed server is back, a member says. */
  knocked?(server: ServerId): void;

  /** Takes a turn. */
  turn?(): void;
  /** Whether a turn has left or made something to do. */
  hasWork?(): boolean;
  /** The write of that number and all before it are durable. */
  persisted?(seq: WriteSeq): void;
  /** An entry is about to be applied to the machine. */
  applying?(entry: Entry): void;
  /** The turn that began then is over. */
  endTurn?(beganAtMs: number): void;
  /** No turn is taken any more: whoever waits for one is told, and nothing more is said to anybody. */
  halt?(): void;
}

export type Hook = Exclude<keyof DriverPart, 'snapshot'>;
