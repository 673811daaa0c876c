/**
 * Puts a log together from the batches of its segments, in order: each must follow from those before it. What the bytes demand of who
 * reads them is collected on the way.
 */

import { missingFeatures, NO_FEATURES, type FeatureSet } from '@holdfast/protocol';
import { nextIndex, previousIndex } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { featuresOfEntries } from '../files/disk-features.ts';
import type { LogIdentity, LoggedBatch, SegmentHeader } from '../format/frame.ts';
import { IdentityMismatchError } from '../errors/identity-mismatch-error.ts';
import { LogImage } from '../contract/log-image.ts';
import { LogSpans } from '../segments/log-spans.ts';
import type { SegmentSummary } from './recovered-log.ts';

export class LogReplay {
  readonly image = new LogImage();
  readonly spans = new LogSpans();
  features: FeatureSet = NO_FEATURES;
  readonly #identity: LogIdentity;

  constructor(identity: LogIdentity) {
    this.#identity = identity;
  }

  demand(features: FeatureSet): void {
    this.features += missingFeatures(features, this.features);
  }

  /**
   * A valid batch of the segment `summary`, which comes behind `previous`.
   * @throws DamagedLogError, IdentityMismatchError
   */
  replay(
    batch: LoggedBatch,
    summary: SegmentSummary,
    place: { readonly position: number; readonly end: number },
    previous: SegmentSummary | undefined,
  ): void {
    const { file, number } = summary;
    const damaged = (reason: string) => new DamagedLogError(file, place.position, reason);
    if ((batch.header !== undefined) !== (place.position === 0)) {
      throw damaged(
        batch.header === undefined ? 'it does not begin with a segment header' : 'a segment header in its middle',
      );
    }
    if (batch.header !== undefined) this.#checkHeader(batch.header, summary, previous, damaged);
    const contradiction = this.image.contradiction(batch);
    if (contradiction !== undefined) throw damaged(contradiction);
    const { hardState, truncateFrom, entries } = batch;
    if (hardState !== undefined) this.image.setHardState(hardState);
    if (truncateFrom !== undefined) {
      summary.cutFrom = Math.min(summary.cutFrom, truncateFrom);
      this.image.truncateFrom(truncateFrom);
      this.spans.truncateFrom(truncateFrom);
    }
    this.demand(featuresOfEntries(entries));
    this.image.append(entries);
    const first = entries[0];
    if (first !== undefined) this.spans.append(first.index, this.image.lastIndex, { segment: number, ...place });
  }

  #checkHeader(
    header: SegmentHeader,
    { file, number, firstIndex }: SegmentSummary,
    previous: SegmentSummary | undefined,
    damaged: (reason: string) => DamagedLogError,
  ): void {
    if (!this.#owns(header)) throw new IdentityMismatchError(file, header, this.#identity);
    if (header.number !== number || header.firstIndex !== firstIndex) {
      throw damaged(`its header is that of segment ${header.number} with first index ${header.firstIndex}`);
    }
    if (previous !== undefined && header.previousEnd !== previous.usedBytes) {
      throw new DamagedLogError(
        previous.file,
        previous.usedBytes,
        `its records end here, but once went on to byte ${header.previousEnd}`,
      );
    }
    // The segments before it were compacted away, or are void.
    if (previous === undefined) {
      this.image.beginAt({ index: previousIndex(header.firstIndex), term: header.previousTerm });
    }
    this.demand(header.features);
    const { lastIndex, lastTerm } = this.image;
    if (header.firstIndex !== nextIndex(lastIndex) || header.previousTerm !== lastTerm) {
      throw damaged(
        `it goes on from index ${header.firstIndex - 1} of term ${header.previousTerm}, but the log before it ends at index ${lastIndex} of term ${lastTerm}`,
      );
    }
  }

  #owns({ clusterId, serverId, incarnation }: LogIdentity): boolean {
    const own = this.#identity;
    return clusterId === own.clusterId && serverId === own.serverId && incarnation === own.incarnation;
  }
}
