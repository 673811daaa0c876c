/**
 * What a snapshot may have beyond the records of its format, by number and name. One that has such a thing says so in front, and whether
 * who does not know it may go on: what is required and unknown is refused by its name, what is optional and unknown is kept as it is and
 * written again. A number never changes its meaning. The number of an extra's feature is the extra's tag.
 */

import { ExtraTag } from '../tree/extra-tag.ts';

export interface SnapshotFeature {
  /** From 1 to 65,535. */
  readonly number: number;
  /** For who does not know it. */
  readonly name: string;
  /** Who does not know it must not use the state. */
  readonly required: boolean;
}

export const SNAPSHOT_FEATURES: readonly SnapshotFeature[] = [
  { number: ExtraTag.requestParameters, name: 'parameters of lock requests', required: true },
  { number: ExtraTag.lifetime, name: 'containers and times to live of nodes', required: true },
  { number: ExtraTag.noData, name: 'nodes without data', required: true },
  { number: ExtraTag.acquireOptions, name: 'options of acquires', required: true },
  { number: ExtraTag.lockDelay, name: 'delays of locks', required: true },
  { number: ExtraTag.releaseRequest, name: 'requests to release holds', required: true },
];
