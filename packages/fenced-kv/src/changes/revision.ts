/** What is told of a change of a bucket. */

export interface Change {
  /** `expired`: its time to live was over some time ago, and it has been removed now. */
  readonly type: 'put' | 'delete' | 'expired';
  readonly key: string;
  /** Of the value, of a `put`. */
  readonly bytes?: number;
}

/** All that one write has changed, or one removal of expired keys. */
export interface Revision {
  readonly revision: number;
  readonly changes: readonly Change[];
}

export interface BucketRevision extends Revision {
  readonly bucket: string;
}
