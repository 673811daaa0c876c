/** The tags of the extras that this program makes. Each is the number of a feature of snapshots, and never changes its meaning. */
export const ExtraTag = {
  /** Of a queue node: what its request asks for beside the lock, as its kind writes it. */
  requestParameters: 1,
  /** When the node goes by itself (node-lifetime.ts). */
  lifetime: 2,
  /** Without bytes: the node has no data, which is not the same as empty data. */
  noData: 3,
  /** Of a queue node: what its acquire asked for that counts later (locks/acquire-options.ts). */
  acquireOptions: 4,
  /** Of a lock's container: nobody is granted the lock for a while (locks/lock-delay.ts). */
  lockDelay: 5,
  /** Of a queue node: that the hold is to be released (locks/release-request.ts). */
  releaseRequest: 6,
} as const;
