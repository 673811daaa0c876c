/**
 * An operator's end of a ban on voting, while the server is not running. Afterwards the server votes with a log that may lack committed
 * entries. The term in which the ban began is durable before the ban goes: the server has voted in none as high, so it votes twice in none.
 */

import type { Disk, Logger } from '@holdfast/runtime';
import { NO_SERVER, type LogPosition, type Term } from '../../core/index.ts';
import { logDirectoryOf, takeDataDirectory } from './data-directory.ts';
import { openWriteAheadLog } from '../wal/write-ahead-log.ts';

export interface LiftedVoteBan {
  /** In which the ban began. */
  readonly ban: Term;
  /** Where the log ends. */
  readonly last: LogPosition;
}

/**
 * Undefined when there was no ban. **Durable** on resolve.
 * @throws DataDirectoryInUseError, DataDirectoryError, IdentityMismatchError, DiskError; DamagedLogError of a log that no start has repaired
 */
export async function liftVoteBan(
  path: string,
  world: { readonly disk: Disk; readonly logger: Logger },
): Promise<LiftedVoteBan | undefined> {
  const directory = await takeDataDirectory(path, world);
  try {
    const { identity, features } = directory;
    const store = await openWriteAheadLog({ ...identity, directory: logDirectoryOf(path), features }, world);
    try {
      const { voteBan: ban, hardState, base, terms, lastIndex } = store.durable;
      if (ban === undefined) return undefined;
      if (hardState.term < ban) await store.write({ hardState: { term: ban, votedFor: NO_SERVER }, entries: [] });
      await store.liftVoteBan();
      return { ban, last: { index: lastIndex, term: terms.at(-1)?.term ?? base.term } };
    } finally {
      await store.close();
    }
  } finally {
    await directory.release();
  }
}
