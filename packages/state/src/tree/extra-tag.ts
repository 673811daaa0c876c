/** The tags of the extras that this program makes. Each is the number of a feature of snapshots, and never changes its meaning. */
export const ExtraTag = {
  /** Of a queue node: what its request asks for beside the lock, as its kind writes it. */
  requestParameters: 1,
  /** When the node goes by itself (node-lifetime.ts). */
  lifetime: 2,
  /** Without bytes: the node has no data, which is not the same as empty data. */
  noData: 3,
} as const;
