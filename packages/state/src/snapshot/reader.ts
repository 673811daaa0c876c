/** Reading a snapshot of one format: a header, then records, each of which becomes one call of the sink. */

import type { NodeExtra } from '../tree/storage/node-extras.ts';
import type { NodeSlot } from '../tree/node-slot.ts';
import type { NodeImage } from '../tree/tree-restore.ts';
import type { SnapshotFeature } from './features.ts';
import type { SnapshotHeader } from './format.ts';
import type { NodeRole } from './node-record.ts';
import type { SessionImage } from './session-record.ts';

/** Takes what a snapshot has, in the order of its records. Each throws SnapshotError for what cannot be. */
export interface SnapshotSink {
  feature(feature: SnapshotFeature): void;
  session(image: SessionImage): void;
  /** The image is good until the call returns. */
  node(slot: NodeSlot, role: NodeRole, image: NodeImage): void;
  /** As the image. */
  extra(slot: NodeSlot, extra: NodeExtra): void;
  freeSlot(slot: NodeSlot): void;
  /** Nothing follows; so many records came before. */
  end(records: number): void;
}

export interface SnapshotReader {
  readonly headerBytes: number;
  /** `latest`: the highest state version that this program knows. @throws SnapshotError */
  readHeader(view: DataView, at: number, latest: number): SnapshotHeader;
  /** A record of that type, which lies between. @throws SnapshotError; MalformedError for what is no text or answer */
  readRecord(type: number, bytes: Uint8Array, view: DataView, at: number, end: number, into: SnapshotSink): void;
}
