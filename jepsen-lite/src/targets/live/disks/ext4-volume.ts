/** An ext4 file system in a sparse file, mounted through a loop device: a disk that belongs to one server alone. */

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { allOf, withinLimit } from '../../hang.ts';
import { giveRoomBack, takeAllRoom } from './ballast.ts';
import { Canaries } from './canaries.ts';
import { FAILED_EFFECTS, FailingCall } from './failing-calls.ts';
import { flipAcknowledgedBit } from './flip-bit.ts';
import { LoopImage } from './kernel/loop-image.ts';
import { reasonOf } from './tools.ts';
import { tornPieces, type Piece } from './torn-write.ts';
import { VolumeError, type DiskOperation, type OnStruck, type Tear, type Volume, type VolumeFault } from './volume.ts';
import { VolumeGuard } from './kernel/volume-guard.ts';
import { threadsWaitingForThaw, writesWaitingForThaw, type WriteUnderWay } from './kernel/waiting-threads.ts';
import type { Delay } from '../../../plan/fields.ts';

export interface Ext4VolumeOptions {
  readonly name: string;
  /** Of the harness; the image and its mount are made there. */
  readonly directory: string;
  /** The size of the disk; what is not used takes no room. */
  readonly bytes: number;
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly struck: OnStruck;
  readonly random: () => number;
}

/** How long a write is waited for that can be torn. */
const TEAR_LIMIT_MS = 300;
/** A thaw takes milliseconds, and what waited for it is written then. */
const END_TROUBLE_MS = 10_000;
/** For each step of its end: longer than a tool may take that is then killed. */
const CLOSE_STEP_MS = 60_000;
/** Between two hangs of a slow disk: the writes that waited are done in it. */
const BETWEEN_HANGS_MS = 2;
/** Somebody who makes room so often in the moment between two looks is not to be expected. */
const MAX_FILLS = 5;

export class Ext4Volume implements Volume {
  readonly name: string;
  readonly path: string;
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly #image: LoopImage;
  readonly #ballast: string;
  readonly #struck: OnStruck;
  readonly #random: () => number;
  readonly #guard: VolumeGuard;
  readonly #canaries: Canaries;
  #powerless = false;
  #canariesChanged = false;
  #torn: { readonly path: string; readonly pieces: readonly Piece[] } | undefined;
  /** What goes on until it is told to end. */
  #trouble: { readonly end: AbortController; readonly ended: Promise<void> } | undefined;
  #failing: FailingCall | undefined;
  #filling: Promise<void> = Promise.resolve();
  #turn: Promise<void> = Promise.resolve();

  private constructor({ name, directory, lacks, struck, random }: Ext4VolumeOptions) {
    this.name = name;
    this.lacks = lacks;
    this.#image = new LoopImage(join(directory, name));
    this.path = join(this.#mount, 'data');
    this.#ballast = join(this.#mount, 'ballast');
    this.#struck = struck;
    this.#random = random;
    this.#canaries = new Canaries(join(this.#mount, 'canaries'));
    this.#guard = new VolumeGuard(this.#mount);
  }

  static async create(options: Ext4VolumeOptions): Promise<Ext4Volume> {
    const volume = new Ext4Volume(options);
    try {
      await volume.#image.make(options.bytes);
      volume.#canaries.lay();
      return volume;
    } catch (error) {
      await volume.close();
      throw new VolumeError(`cannot make the volume ${options.name}: ${reasonOf(error)}`, { cause: error });
    }
  }

  powerLoss(tear: Tear, pid?: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#powerless) return;
      await this.#heal();
      const running = pid !== undefined && isRunning(pid);
      const refused = await this.#shutDown(tear, pid);
      this.#powerless = true;
      if (!refused) throw new VolumeError(`${this.#mount} was shut down, and can be written to`);
      if (running) this.#struck('crash', 1);
    });
  }

  async remount(): Promise<void> {
    await this.#image.unmount();
    await this.#image.mount();
    // The run is over, and the disk was removed meanwhile.
    if (!this.#image.mounted) return;
    // What filled it was removed before the power failed; but that removal may be among what was lost.
    await giveRoomBack(this.#ballast);
    this.#powerless = false;
    if (this.#canariesChanged) for (const effect of this.#canaries.lost()) this.#struck(effect, 1);
    this.#canariesChanged = false;
    this.#tearWrite();
    this.#canaries.lay();
  }

  hang(forMs: number, pid: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#powerless) return;
      await this.#endTrouble();
      await this.#guard.freeze();
      this.#begin((signal) => this.#thawAfter(forMs, pid, 'sync-stalled', signal));
    });
  }

  slow(latency: Delay | undefined, pid: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#endTrouble();
      if (latency === undefined || this.#powerless) return;
      const { minMs, maxMs } = latency;
      const drawn = (): number => minMs + (maxMs - minMs) * this.#random();
      await this.#guard.freeze();
      this.#begin(async (signal) => {
        for (;;) {
          await this.#thawAfter(drawn(), pid, 'sync-slowed', signal);
          if (signal.aborted) return;
          await delay(BETWEEN_HANGS_MS);
          await this.#guard.freeze();
        }
      });
    });
  }

  async failNext(operation: DiskOperation, pid: number): Promise<void> {
    const reason = this.lacks.get('failNext');
    if (reason !== undefined) throw new VolumeError(`the volume ${this.name} has no failNext: ${reason}`);
    await this.#failing?.disarm();
    this.#failing = await FailingCall.arm(operation, pid, () => this.#struck(FAILED_EFFECTS[operation], 1));
  }

  fill(): Promise<void> {
    const filled = this.#filling.then(() => this.#fill());
    this.#filling = filled.catch(() => undefined);
    return filled;
  }

  async free(): Promise<void> {
    // A disk that hangs is full only when it goes on.
    await this.#filling;
    if (!this.#powerless) await giveRoomBack(this.#ballast);
  }

  flipBit(at: number, bit: number): Promise<boolean> {
    return flipAcknowledgedBit(this.path, at, bit);
  }

  heal(): Promise<void> {
    return this.#inTurn(() => this.#heal());
  }

  letGo(): Promise<void> {
    return this.#inOrder([
      { what: 'the end of its trouble', act: () => this.#endTrouble() },
      { what: 'the end of what makes calls fail', act: () => this.#failing?.disarm() },
      { what: 'the end of its guard', act: () => this.#guard.close() },
    ]);
  }

  async close(): Promise<void> {
    await this.#inOrder([
      { what: 'letting go of it', act: () => this.letGo() },
      { what: 'its removal', act: () => this.#image.remove() },
    ]);
  }

  async #heal(): Promise<void> {
    await this.#endTrouble();
    await this.#failing?.disarm();
    this.#failing = undefined;
    await this.free();
  }

  /** What freezes it and what shuts it down: none of it begins before the other has all that it waits for. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #inOrder(steps: Parameters<typeof allOf>[0]): Promise<void> {
    const problem = await allOf(steps, CLOSE_STEP_MS);
    if (problem !== undefined) throw new VolumeError(`the volume ${this.name}: ${problem}`);
  }

  async #fill(): Promise<void> {
    if (this.#powerless) return;
    for (let tries = 1; ; tries += 1) {
      await giveRoomBack(this.#ballast);
      if (await takeAllRoom(this.#ballast)) break;
      // A server may have removed a file of its own in between.
      if (tries === MAX_FILLS) throw new VolumeError(`${this.#mount} was filled, and can be written to`);
    }
    this.#struck('no-space', 1);
  }

  /** Whether the kernel refuses writes from then on. */
  async #shutDown(tear: Tear, pid: number | undefined): Promise<boolean> {
    switch (tear) {
      case 'none':
        this.#canariesChanged = true;
        return this.#guard.shutDown('nothing', this.#canaries.directory);
      case 'all':
        await this.#guard.freeze();
        return this.#guard.shutDown('nothing');
      case 'random':
        if (this.#random() < 0.5) return this.#guard.shutDown('journal');
        // A freeze lets no write begin that has not, and makes durable what came before it.
        await this.#guard.freeze();
        if (pid !== undefined) this.#torn = await this.#tearable(pid);
        return this.#guard.shutDown('nothing');
    }
  }

  async #tearable(pid: number): Promise<{ path: string; pieces: readonly Piece[] } | undefined> {
    const end = performance.now() + TEAR_LIMIT_MS;
    while (performance.now() < end && isRunning(pid)) {
      const write = writesWaitingForThaw(pid).find((one) => one.path.startsWith(`${this.#mount}/`));
      if (write !== undefined) return this.#tornBy(write);
      await delay(1);
    }
    return undefined;
  }

  #tornBy({ path, position, bytes }: WriteUnderWay): { path: string; pieces: readonly Piece[] } {
    return { path: relative(this.#mount, path), pieces: tornPieces(position, bytes, this.#random) };
  }

  #tearWrite(): void {
    const torn = this.#torn;
    this.#torn = undefined;
    if (torn === undefined || torn.pieces.length === 0) return;
    const file = openSync(join(this.#mount, torn.path), 'r+');
    try {
      for (const { position, bytes } of torn.pieces) writeSync(file, bytes, 0, bytes.length, position);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    this.#struck('unsynced-change-torn', 1);
  }

  #begin(trouble: (signal: AbortSignal) => Promise<void>): void {
    const end = new AbortController();
    this.#trouble = { end, ended: trouble(end.signal) };
    // Told to who ends it.
    this.#trouble.ended.catch(() => undefined);
  }

  async #endTrouble(): Promise<void> {
    const trouble = this.#trouble;
    if (trouble === undefined) return;
    trouble.end.abort();
    await withinLimit('what strikes it', END_TROUBLE_MS, () => trouble.ended);
    // Whoever else has asked for its end has waited for it, too.
    if (this.#trouble === trouble) this.#trouble = undefined;
  }

  async #thawAfter(
    forMs: number,
    pid: number,
    effect: 'sync-stalled' | 'sync-slowed',
    signal: AbortSignal,
  ): Promise<void> {
    await delay(forMs, undefined, { signal }).catch(() => undefined);
    const waiting = threadsWaitingForThaw(pid);
    await this.#guard.thaw();
    if (waiting > 0) this.#struck(effect, waiting);
  }

  get #mount(): string {
    return this.#image.path;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
