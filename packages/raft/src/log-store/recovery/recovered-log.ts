/** What a start finds in a log's directory. */

import type { FeatureSet } from '@holdfast/protocol';
import type { LogIndex, Term } from '../../core/index.ts';
import type { LogImage } from '../contract/log-image.ts';
import type { LogSpans } from '../segments/log-spans.ts';
import type { TailMarker } from '../segments/durable-tail-marker.ts';

export interface SegmentSummary {
  readonly file: string;
  readonly number: number;
  readonly firstIndex: LogIndex;
  readonly sizeBytes: number;
  /** Where its records end; 0 when nothing was ever written. */
  usedBytes: number;
  /** The lowest index from which a batch in it cuts the log; Infinity when none does. */
  cutFrom: number;
}

export interface ByteRange {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

export interface RecoveredLog {
  readonly image: LogImage;
  readonly spans: LogSpans;
  /** Those that the log is made of; earlier ones are void. */
  readonly segments: readonly SegmentSummary[];
  /** Undefined while the last segment is empty. */
  readonly lastBatch: ByteRange | undefined;
  /** Bytes of a write that was never acknowledged. */
  readonly tornTail: ByteRange | undefined;
  /** How far the log once had got; undefined when nothing says so. */
  readonly mark: TailMarker | undefined;
  /** Undefined without a ban. */
  readonly voteBan: Term | undefined;
  /** What its bytes demand of who reads them. */
  readonly features: FeatureSet;
}
