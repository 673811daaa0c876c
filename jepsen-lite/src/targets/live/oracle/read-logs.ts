/** What servers have left in their data directories, read when their processes have ended. */

import {
  bytesOf,
  decodeConfiguration,
  EntryType,
  logDirectoryOf,
  logIndex,
  nextIndex,
  openWriteAheadLog,
  takeDataDirectory,
  type DurableState,
  type Entry,
  type LogStore,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeDisk } from '@holdfast/runtime/node';
import { StateMachine } from '@holdfast/state';

const READ_BYTES = 1024 * 1024;

export interface ServerLog {
  readonly host: string;
  /** The log begins behind it: what comes before it is in a snapshot. */
  readonly baseIndex: number;
  readonly entries: readonly Entry[];
  /** Of the last entry, or of the base. */
  readonly lastTerm: number;
  /** Of the newest configuration that it has; undefined: the one that the cluster began with. */
  readonly voters: readonly number[] | undefined;
  /** What its newest snapshot makes. */
  readonly snapshot: RestoredSnapshot | undefined;
}

export interface RestoredSnapshot {
  readonly index: number;
  readonly state: StateMachine;
}

/** Takes the directory as a server would, so that none can run on it meanwhile. @throws what opening a log throws */
export async function readLog(host: string, path: string): Promise<ServerLog> {
  const world = { disk: nodeDisk(), logger: silentLogger };
  const directory = await takeDataDirectory(path, world);
  try {
    const { identity, features } = directory;
    const store = await openWriteAheadLog({ ...identity, directory: logDirectoryOf(path), features }, world);
    try {
      const { base, lastIndex, terms } = store.durable;
      const entries: Entry[] = [];
      for (let index: number = base.index; index < lastIndex; index = entries.at(-1)?.index ?? lastIndex) {
        entries.push(...(await store.read(nextIndex(logIndex(index)), lastIndex, READ_BYTES)));
      }
      const lastTerm = terms.at(-1)?.term ?? base.term;
      const snapshot = await restoredFrom(store);
      return { host, baseIndex: base.index, entries, lastTerm, voters: votersIn(store.durable), snapshot };
    } finally {
      await store.close();
    }
  } finally {
    await directory.release();
  }
}

async function restoredFrom(store: LogStore): Promise<RestoredSnapshot | undefined> {
  const source = await store.openSnapshot();
  if (source === undefined) return undefined;
  try {
    const { index } = source.info;
    const state = new StateMachine();
    const restoring = state.beginRestore(index);
    for await (const bytes of bytesOf(source)) restoring.push(bytes);
    restoring.finish();
    return { index, state };
  } finally {
    await source.close();
  }
}

function votersIn({ configurations, snapshot }: DurableState): readonly number[] | undefined {
  const newest = configurations.at(-1)?.data ?? snapshot?.configuration;
  if (newest === undefined || newest.length === 0) return undefined;
  return decodeConfiguration(newest).members.flatMap(({ id, role }) => (role === 'voter' ? id : []));
}

export function isCommand({ type }: Entry): boolean {
  return type === EntryType.command;
}
