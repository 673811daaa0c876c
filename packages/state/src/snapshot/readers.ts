/** The reader of each format version. A format that was released is read for ever. */

import { readerV1 } from './reader-v1.ts';
import type { SnapshotReader } from './reader.ts';

export const READERS: ReadonlyMap<number, SnapshotReader> = new Map([[1, readerV1]]);
