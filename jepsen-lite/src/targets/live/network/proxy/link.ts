/**
 * One direction between two hosts, as a proxy makes it: how long what is sent takes, and whether it passes at all. What is held passes in
 * order as soon as nothing holds it; nothing is ever lost, so that a cut is silence, and not the loss of packets that TCP would notice.
 */

import type { Effect } from '../../../../nemeses/target.ts';
import type { Delay } from '../../../../plan/fields.ts';

/** Before TCP sends again what was lost; twice as long each time. */
const FIRST_PAUSE_MS = 200;
const MAX_REPEATS = 10;

export type DialMode = 'normal' | 'refused' | 'hanging';

/** What holds for all links of a proxy. */
export interface LinkConditions {
  /** Undefined: what is sent arrives at once. */
  latency: Delay | undefined;
  /** With which each chunk of bytes breaks its connection. */
  breakChance: number;
  /** Of what is sent this share waits as long as TCP does before it sends again. */
  dropShare: number;
}

export interface LinkServices {
  readonly conditions: LinkConditions;
  readonly count: (effect: Effect, times?: number) => void;
  /** From 0 to below 1. */
  readonly random: () => number;
}

type Hold = Extract<Effect, 'frame-held-by-cut' | 'frame-held-by-clog'>;

export class Link {
  readonly count: (effect: Effect, times?: number) => void;
  readonly #conditions: LinkConditions;
  readonly #random: () => number;
  #dials: DialMode = 'normal';
  #cut = false;
  /** One for each clog that lasts. */
  readonly #clogs = new Set<NodeJS.Timeout>();
  /** Each is called once, when what held it may be over. */
  readonly #waiting = new Set<() => void>();
  #bytesPerMs: number | undefined;
  /** By `performance.now()`: until then it is taken by what had its turn. */
  #takenUntilMs = 0;

  constructor({ conditions, count, random }: LinkServices) {
    this.count = count;
    this.#conditions = conditions;
    this.#random = random;
  }

  /** The effect of what keeps everything from passing; undefined: it passes. */
  get hold(): Hold | undefined {
    if (this.#cut) return 'frame-held-by-cut';
    return this.#clogs.size > 0 ? 'frame-held-by-clog' : undefined;
  }

  get dials(): DialMode {
    return this.#dials;
  }

  setDials(mode: DialMode): void {
    this.#dials = mode;
    this.#wake();
  }

  cut(): void {
    this.#cut = true;
  }

  mend(): void {
    this.#cut = false;
    this.#wake();
  }

  clog(forMs: number): void {
    const timer = setTimeout(() => {
      this.#clogs.delete(timer);
      this.#wake();
    }, forMs);
    this.#clogs.add(timer);
  }

  /** Ends everything that was done to this link alone. */
  heal(): void {
    for (const timer of this.#clogs) clearTimeout(timer);
    this.#clogs.clear();
    this.#cut = false;
    this.limit(undefined);
    this.setDials('normal');
  }

  get isLimited(): boolean {
    return this.#bytesPerMs !== undefined;
  }

  /** Undefined: as much as anybody sends; what waits passes at once. */
  limit(bytesPerSecond: number | undefined): void {
    this.#bytesPerMs = bytesPerSecond === undefined ? undefined : bytesPerSecond / 1_000;
    this.#takenUntilMs = 0;
    this.#wake();
  }

  /** When so many bytes have passed, behind those of all flows that asked before. */
  takeTurn(bytes: number): number {
    this.#takenUntilMs = Math.max(this.#takenUntilMs, performance.now()) + bytes / (this.#bytesPerMs ?? Infinity);
    return this.#takenUntilMs;
  }

  /** How long what is sent now takes, drawn anew: in milliseconds, most draws near the lower end. */
  delayMs(): number {
    const { latency } = this.#conditions;
    if (latency === undefined) return 0;
    const { minMs, maxMs } = latency;
    const drawn = this.#random();
    if (!('meanMs' in latency)) return minMs + (maxMs - minMs) * drawn ** 3;
    return Math.min(maxMs, minMs - (latency.meanMs - minMs) * Math.log(1 - drawn));
  }

  /** For how long what is sent now waits since it was dropped, drawn anew; counted each time that it is. */
  pauseMs(): number {
    const { dropShare } = this.#conditions;
    let sent = 0;
    while (dropShare > 0 && sent < MAX_REPEATS && this.#random() < dropShare) sent += 1;
    for (let n = 0; n < sent; n += 1) this.count('packet-dropped');
    return FIRST_PAUSE_MS * (2 ** sent - 1);
  }

  /** Whether the chunk that is sent now breaks its connection, drawn anew. */
  breaks(): boolean {
    return this.#random() < this.#conditions.breakChance;
  }

  /** Calls it once, when it is worth another look at `hold` and `dials`. */
  whenChanged(look: () => void): void {
    this.#waiting.add(look);
  }

  forget(look: () => void): void {
    this.#waiting.delete(look);
  }

  #wake(): void {
    const looks = [...this.#waiting];
    this.#waiting.clear();
    for (const look of looks) look();
  }
}
