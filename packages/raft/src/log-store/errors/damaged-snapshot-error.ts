/** A snapshot has not the bytes that were written. Thrown while it is read, it says nothing of older ones, nor of the log behind those. */

import { DamagedLogError } from './damaged-log-error.ts';

export class DamagedSnapshotError extends DamagedLogError {}
