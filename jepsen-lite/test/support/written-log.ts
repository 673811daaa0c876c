/** A log as a server writes it, on the disk. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EntryType,
  logDirectoryOf,
  logIndex,
  NO_SERVER,
  openDataDirectory,
  openWriteAheadLog,
  serverId,
  term,
  type DataDirectory,
  type Entry,
  type LogStore,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeDisk, nodeRuntime } from '@holdfast/runtime/node';

const SEGMENT_BYTES = 64 * 1024;
const MEMBER = { id: serverId(1), peerAddress: '127.0.0.1:7200' };

export class WrittenLog {
  readonly path: string;
  readonly #segmentBytes: number;

  /** @param path of the data directory, which may not be there yet */
  constructor(path: string, { segmentBytes = SEGMENT_BYTES } = {}) {
    this.path = path;
    this.#segmentBytes = segmentBytes;
  }

  /** Entries of 200 bytes, each durable by itself, after which nobody has the log open. */
  async write(from: number, to: number, ofTerm = 1): Promise<void> {
    const [directory, log] = await this.open();
    const hardState = { term: term(ofTerm), votedFor: NO_SERVER };
    for (let index = from; index <= to; index += 1) {
      const data = Buffer.from(`${index} of term ${ofTerm}`.padEnd(200));
      const entry: Entry = { index: logIndex(index), term: term(ofTerm), type: EntryType.command, data };
      await log.write({ hardState, truncateFrom: logIndex(index), entries: [entry] });
    }
    await log.close();
    await directory.release();
  }

  async open(): Promise<readonly [DataDirectory, LogStore]> {
    const world = { disk: nodeDisk(), random: nodeRuntime({ logger: silentLogger }).random, logger: silentLogger };
    const identity = { clusterId: 'written', serverId: serverId(1) };
    const sizes = { segmentBytes: this.#segmentBytes };
    const directory = await openDataDirectory({ path: this.path, ...identity, members: [MEMBER], ...sizes }, world);
    const { incarnation, logDirectory } = directory;
    return [directory, await openWriteAheadLog({ ...identity, incarnation, directory: logDirectory, ...sizes }, world)];
  }

  /** By name, what its segments hold. */
  get segments(): ReadonlyMap<string, Buffer> {
    const directory = logDirectoryOf(this.path);
    const names = readdirSync(directory).filter((name) => name.endsWith('.wal'));
    return new Map(names.toSorted().map((name) => [name, readFileSync(join(directory, name))]));
  }
}
