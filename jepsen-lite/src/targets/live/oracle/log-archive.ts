/**
 * Copies of what servers have written to their logs, made while they run: snapshots let a server forget the beginning of its log, and the
 * judge needs all of it. An entry that several servers have is kept once.
 */

import type { Entry } from '@holdfast/raft';
import { LogTail } from './log-tail.ts';

/** A log lives longer on its disk, if only a little: servers of a live run leave some of it behind each snapshot. */
const EVERY_MS = 200;

interface Archived {
  readonly tail: LogTail;
  /** By index, less one: what the server's log had there last. */
  readonly entries: (Entry | undefined)[];
}

export class LogArchive {
  readonly #archived: ReadonlyMap<string, Archived>;
  /** By index, less one: entries of which there is a copy. */
  readonly #copies: Entry[][] = [];
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  /** @param directories the data directories of all servers that may run, by host */
  constructor(directories: ReadonlyMap<string, string>, failed: (error: unknown) => void) {
    this.#failed = failed;
    this.#archived = new Map(
      [...directories].map(([host, directory]) => [host, { tail: new LogTail(directory), entries: [] }]),
    );
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#reading ??= this.read()
        .catch(this.#failed)
        .finally(() => (this.#reading = undefined));
    }, EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  /** The host's server is about to start. */
  rewind(host: string): void {
    this.#archived.get(host)?.tail.rewind();
  }

  /** What has come since. */
  async read(): Promise<void> {
    for (const { tail, entries } of this.#archived.values()) {
      for (const entry of await tail.read()) entries[entry.index - 1] = this.#copyOf(entry);
    }
  }

  /** By index, less one. What the server has forgotten is still there. */
  entriesOf(host: string): readonly (Entry | undefined)[] {
    return this.#archived.get(host)?.entries ?? [];
  }

  #copyOf(entry: Entry): Entry {
    const known = (this.#copies[entry.index - 1] ??= []);
    const copy = known.find((each) => isSame(each, entry));
    if (copy !== undefined) return copy;
    known.push(entry);
    return entry;
  }
}

export function isSame(a: Entry, b: Entry): boolean {
  return a === b || (a.term === b.term && a.type === b.type && Buffer.compare(a.data, b.data) === 0);
}
