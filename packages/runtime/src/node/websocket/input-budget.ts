/**
 * The memory of frames that have begun to arrive and are not whole yet, of all connections of a listener together. Whoever has most of it
 * goes first when it is used up, and whoever keeps a frame unfinished for long goes anyway. What the system itself buffers is not counted.
 */

export interface InputLimits {
  /** Of all connections together. @default 20 MiB */
  readonly maxUnfinishedBytes: number;
  /** How long a frame may take from its first byte to its last, in whole seconds. @default 10 */
  readonly maxUnfinishedSeconds: number;
}

export const DEFAULT_INPUT_LIMITS: InputLimits = { maxUnfinishedBytes: 20 * 1024 * 1024, maxUnfinishedSeconds: 10 };

const LOOK_MS = 1_000;

export interface InputDebtor {
  /** Its connection ends, and what it has sent of its frame is forgotten. */
  forgetInput(reason: 'unfinished-too-long' | 'unfinished-too-much', problem: string): void;
}

interface Debt {
  bytes: number;
  frame: number;
  /** Looks at it since the frame began. Not a time: while this process stood still nobody could be read. */
  looks: number;
}

export class InputBudget {
  readonly #limits: InputLimits;
  /** Those with unfinished frames, the oldest first. */
  readonly #debts = new Map<InputDebtor, Debt>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: InputLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** So much is unfinished that whoever sends more should be read a chunk at a time: else one is read far ahead of the others, for nothing. */
  get crowded(): boolean {
    return this.#bytes > this.#limits.maxUnfinishedBytes / 4;
  }

  /** `bytes` of its frame number `frame` have arrived; 0 when none is unfinished, or the connection is over. */
  owes(debtor: InputDebtor, bytes: number, frame = 0): void {
    const debt = this.#debts.get(debtor);
    this.#bytes += bytes - (debt?.bytes ?? 0);
    if (bytes === 0) {
      this.#debts.delete(debtor);
      return;
    }
    if (debt?.frame === frame) {
      debt.bytes = bytes;
    } else {
      this.#debts.delete(debtor);
      this.#debts.set(debtor, { bytes, frame, looks: 0 });
      this.#watch();
    }
    if (this.#bytes > this.#limits.maxUnfinishedBytes) this.#endLargest();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #endLargest(): void {
    let largest: InputDebtor | undefined;
    let most = 0;
    for (const [debtor, { bytes }] of this.#debts) {
      if (bytes <= most) continue;
      largest = debtor;
      most = bytes;
    }
    if (largest === undefined) return;
    const { maxUnfinishedBytes } = this.#limits;
    const problem = `unfinished frames of all connections took over ${maxUnfinishedBytes} bytes, and this one most`;
    this.#end(largest, 'unfinished-too-much', problem);
  }

  #watch(): void {
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const { maxUnfinishedSeconds } = this.#limits;
    for (const [debtor, debt] of this.#debts) {
      debt.looks += 1;
      // The first look may come at once after the first byte.
      if (debt.looks <= maxUnfinishedSeconds) continue;
      this.#end(debtor, 'unfinished-too-long', `a frame was not finished within ${maxUnfinishedSeconds} s`);
    }
    if (this.#debts.size > 0) this.#watch();
  }

  #end(debtor: InputDebtor, reason: Parameters<InputDebtor['forgetInput']>[0], problem: string): void {
    this.owes(debtor, 0);
    debtor.forgetInput(reason, problem);
  }
}
