/**
 * The segments of an open log: which there are, the one that is written, the switch to the next, and which can go. A name is durable
 * before anything is written under it; the oldest segments go first, each for good, so that a crash leaves no gap; the next one is made
 * of one that went, where nobody reads it any more. What is in them is for others to know.
 */

import { join } from 'node:path';
import type { Disk, DiskFile } from '@holdfast/runtime';
import { invariant, type LogIndex } from '../../core/index.ts';
import type { BatchPlace } from '../segments/log-spans.ts';
import type { SegmentSummary } from '../recovery/recovered-log.ts';
import { listSegments } from '../segments/segment-list.ts';
import type { SegmentPreparer } from '../segments/segment-preparer.ts';
import { segmentFileName } from '../segments/segment-name.ts';
import type { SpareSegment } from '../segments/spare-segment.ts';

export interface ActiveSegment {
  readonly number: number;
  readonly firstIndex: LogIndex;
  readonly file: DiskFile;
  readonly sizeBytes: number;
  /** Where the next batch goes. */
  readonly position: number;
  /** Where the records of the segment before end. */
  readonly previousEnd: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface ForgottenSegment {
  readonly number: number;
  readonly path: string;
}

interface SegmentEntry {
  readonly number: number;
  readonly firstIndex: LogIndex;
  /** The lowest index from which a batch in it cuts the log. */
  cutFrom: number;
}

/** Where segments come from and where they go. */
export interface SegmentSupply {
  readonly preparer: SegmentPreparer;
  readonly spare: SpareSegment;
}

export class LogSegments {
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #preparer: SegmentPreparer;
  readonly #spare: SpareSegment;
  /** In order; the last one is the active one. */
  #segments: SegmentEntry[];
  /** Changed in its place: it moves on with every batch. */
  #active: Writable<ActiveSegment>;

  /** `found`: at least one; `file` is the last one's. */
  constructor(
    directory: string,
    found: readonly SegmentSummary[],
    file: DiskFile,
    { preparer, spare }: SegmentSupply,
    disk: Disk,
  ) {
    const last = found.at(-1);
    invariant(last !== undefined, 'a-log-has-a-segment');
    this.#directory = directory;
    this.#disk = disk;
    this.#preparer = preparer;
    this.#spare = spare;
    this.#segments = found.map(({ number, firstIndex, cutFrom }) => ({ number, firstIndex, cutFrom }));
    this.#active = {
      number: last.number,
      firstIndex: last.firstIndex,
      file,
      sizeBytes: last.sizeBytes,
      position: last.usedBytes,
      previousEnd: found.at(-2)?.usedBytes ?? 0,
    };
  }

  get active(): ActiveSegment {
    return this.#active;
  }

  get first(): { readonly number: number; readonly firstIndex: LogIndex } {
    const first = this.#segments[0];
    invariant(first !== undefined, 'a-log-has-a-segment');
    return first;
  }

  pathOf(number: number): string {
    const firstIndex = this.#segments[number - this.first.number]?.firstIndex;
    invariant(firstIndex !== undefined, 'a-span-is-in-a-known-segment');
    return join(this.#directory, segmentFileName({ number, firstIndex }));
  }

  /** A batch was written at the end of the active one. `cutFrom`: it cuts the log from there on. */
  wrote(bytes: number, cutFrom: LogIndex | undefined): BatchPlace {
    const { number, position } = this.#active;
    const end = position + bytes;
    this.#active.position = end;
    const segment = this.#segments.at(-1);
    if (segment !== undefined && cutFrom !== undefined) segment.cutFrom = Math.min(segment.cutFrom, cutFrom);
    return { segment: number, position, end };
  }

  /** In the background, as far as the active one is used. */
  prepareNext(): void {
    this.#preparer.advance(this.#active.position, this.#active.sizeBytes);
  }

  /** Who is told of every piece of the next one that is durable. */
  watchFilling(filled: (() => void) | undefined): void {
    this.#preparer.filled = filled;
  }

  /** What is written next goes into a new one. */
  async switchTo(firstIndex: LogIndex): Promise<void> {
    const { file, number, position, sizeBytes } = this.#active;
    const next = await this.#preparer.take({ number: number + 1, firstIndex }, sizeBytes);
    this.#active = {
      number: number + 1,
      firstIndex,
      file: next,
      sizeBytes: await next.size(),
      position: 0,
      previousEnd: position,
    };
    this.#segments.push({ number: number + 1, firstIndex, cutFrom: Infinity });
    await file.close();
  }

  /** The active one, which is empty, begins at another index. */
  async renameActive(firstIndex: LogIndex): Promise<void> {
    const { number, file } = this.#active;
    const path = join(this.#directory, segmentFileName({ number, firstIndex }));
    await file.close();
    await this.#disk.rename(this.pathOf(number), path);
    await this.#disk.syncDirectory(this.#directory);
    this.#segments = [...this.#segments.slice(0, -1), { number, firstIndex, cutFrom: Infinity }];
    this.#active = { ...this.#active, firstIndex, file: await this.#disk.open(path, 'existing') };
  }

  /**
   * The number of the first one that must stay when entries up to `upTo` are not needed; undefined when all must. It must show by its
   * header how the log begins: no later batch may cut the log before it, and it must have one.
   */
  firstNeeded(upTo: LogIndex): number | undefined {
    let cutFrom = Infinity;
    for (const segment of this.#segments.toReversed()) {
      cutFrom = Math.min(cutFrom, segment.cutFrom);
      const written = segment.number !== this.#active.number || this.#active.position > 0;
      if (written && segment.firstIndex - 1 <= upTo && cutFrom >= segment.firstIndex) return segment.number;
    }
    return undefined;
  }

  /** They are no part of the log from here on; in order, for {@link letGo}. */
  forgetBefore(number: number): readonly ForgottenSegment[] {
    const forgotten = this.#segments.filter((segment) => segment.number < number);
    const paths = forgotten.map((segment) => ({ number: segment.number, path: this.pathOf(segment.number) }));
    this.#segments = this.#segments.slice(forgotten.length);
    return paths;
  }

  /** **Durable** on resolve. One that is still `read` is removed: its readers must not see it become zeros. */
  async letGo(path: string, { read }: { readonly read: boolean }): Promise<void> {
    if (!read && (await this.#spare.offer(path))) return;
    await this.#disk.remove(path);
    await this.#disk.syncDirectory(this.#directory);
  }

  /** Those that the log had let go when a crash came go now. */
  async letGoVoid(): Promise<void> {
    for (const { path, number } of await listSegments(this.#directory, this.#disk)) {
      if (number < this.first.number) await this.letGo(path, { read: false });
    }
  }

  /** Whether a segment may be kept for the next one to be made of. */
  allowSpare(allowed: boolean): void {
    this.#spare.allow(allowed);
  }

  async close(): Promise<void> {
    await this.#preparer.close();
    await this.#spare.close();
    await this.#active.file.close();
  }
}
