/** `lockd inspect`: what a data directory holds, for operators. Reads only. */

import { describeFeatures } from '@holdfast/protocol';
import { findIdentity, inspectWriteAheadLog, logDirectoryOf, type Identity, type LogSummary } from '@holdfast/raft';
import type { Disk } from '@holdfast/runtime';
import { UsageError } from '../settings/settings.ts';

export interface DataReport extends LogSummary {
  readonly identity: Identity;
}

/** @throws UsageError when a start would make a new directory; DataDirectoryError, DamagedLogError, IdentityMismatchError, DiskError */
export async function inspectDataDirectory(path: string, disk: Disk): Promise<DataReport> {
  const identity = await findIdentity(path, { disk });
  if (identity === undefined)
    throw new UsageError(`--data ${path} has no identity.json, so it is not a data directory`);
  const summary = await inspectWriteAheadLog({ ...identity, directory: logDirectoryOf(path) }, { disk });
  return { ...summary, identity };
}

function snapshotLine({ snapshot, baseIndex }: Pick<LogSummary, 'snapshot' | 'baseIndex'>): string {
  if (snapshot === undefined) return 'no snapshot; the log is whole';
  const { index, term, bytes, origin } = snapshot;
  return `snapshot of index ${index}, of term ${term}: ${bytes} bytes, ${origin}; the log begins behind index ${baseIndex}`;
}

export function formatDataReport({ identity, segments, hardState, ...log }: DataReport): string {
  const { clusterId, serverId, incarnation, members } = identity;
  const lines = [
    `server ${serverId} of cluster "${clusterId}", incarnation ${incarnation}`,
    `demands of the program: ${describeFeatures(identity.required)}`,
    `members at creation: ${members.map(({ id, peerAddress }) => `${id}=${peerAddress}`).join(', ')}`,
    `term ${hardState.term}, vote ${hardState.votedFor === 0 ? 'none' : `for ${hardState.votedFor}`}`,
    `last index ${log.lastIndex}, of term ${log.lastTerm}`,
    snapshotLine(log),
    `${segments.length} segments:`,
    ...segments.map((segment) => `  ${JSON.stringify(segment)}`),
  ];
  if (log.tornTail !== undefined) {
    const { file, from, to } = log.tornTail;
    lines.push(`torn tail: ${to - from} bytes at ${from} of ${file}, never acknowledged; the next start cuts them`);
  }
  if (log.voteBan !== undefined) {
    lines.push(
      `may not vote since term ${log.voteBan}: acknowledged log was lost, and no leader has sent all of it again`,
    );
  }
  if (log.damage !== undefined) {
    const { file, offset, reason } = log.damage;
    lines.push(
      `DAMAGED: ${file} at byte ${offset}: ${reason}; what is above was understood up to there`,
      'a server does not start on it: restore the file from a copy of this very state, or replace the server by one with a new id',
    );
  }
  return `${lines.join('\n')}\n`;
}
