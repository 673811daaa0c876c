/** What is known of a node beside its data: ZooKeeper's fields, with the log index as zxid. */

import type { TupleReader } from './pack.ts';

export interface Stat {
  /** Log index of the entry that created the node. */
  readonly czxid: number;
  /** Log index of the last change of its data; of a lock's queue node, its token once granted. */
  readonly mzxid: number;
  /** Log index of the last creation or deletion of a direct child. */
  readonly pzxid: number;
  /** Milliseconds since the Unix epoch, by the leader's wall clock. */
  readonly ctime: number;
  readonly mtime: number;
  /** Number of changes of its data. */
  readonly version: number;
  /** Number of creations and deletions of direct children. */
  readonly cversion: number;
  readonly aversion: number;
  /** The session with which the node goes; 0 for a persistent node. */
  readonly ephemeralOwner: number;
  readonly dataLength: number;
  readonly numChildren: number;
}

export function statToTuple(stat: Stat): number[] {
  return [
    stat.czxid,
    stat.mzxid,
    stat.pzxid,
    stat.ctime,
    stat.mtime,
    stat.version,
    stat.cversion,
    stat.aversion,
    stat.ephemeralOwner,
    stat.dataLength,
    stat.numChildren,
  ];
}

export function readStat(reader: TupleReader): Stat {
  return {
    czxid: reader.integer('czxid'),
    mzxid: reader.integer('mzxid'),
    pzxid: reader.integer('pzxid'),
    ctime: reader.integer('ctime'),
    mtime: reader.integer('mtime'),
    version: reader.integer('version'),
    cversion: reader.integer('cversion'),
    aversion: reader.integer('aversion'),
    ephemeralOwner: reader.integer('ephemeralOwner'),
    dataLength: reader.integer('dataLength'),
    numChildren: reader.integer('numChildren'),
  };
}
