/**
 * The memory of what clients were sent and have not read, of all of them together. Who reads nothing for a while is cut off, and when the
 * budget is used up, whoever has most of it. Connections that have been sent goodbye count until they are gone.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import { MAX_UNREAD_BYTES, MAX_UNREAD_SECONDS } from '../../limits.ts';

const LOOK_MS = 1_000;

export interface OutputDebtor {
  /** Sent so far, and of that what has not been read: what the system has not taken. */
  readonly sentBytes: number;
  readonly unreadBytes: number;
  /** Ends it at once: what it has not read is not worth keeping. */
  cutOff(problem: string): void;
}

interface Debt {
  /** As it was seen last. */
  bytes: number;
  read: number;
  /** Looks at it in which it had read nothing. Not a time: while this process stood still nobody could read. */
  idleLooks: number;
}

export class OutputBudget {
  readonly #clock: Clock;
  readonly #debts = new Map<OutputDebtor, Debt>();
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As they were seen last. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Something was sent, and not all has been read. */
  owes(debtor: OutputDebtor): void {
    const debt = this.#debts.get(debtor);
    if (debt === undefined) {
      const bytes = debtor.unreadBytes;
      this.#debts.set(debtor, { bytes, read: debtor.sentBytes - bytes, idleLooks: 0 });
      this.#bytes += bytes;
      this.#watch();
    } else {
      this.#see(debtor, debt);
    }
    if (this.#bytes > MAX_UNREAD_BYTES) this.#cutLargest();
  }

  gone(debtor: OutputDebtor): void {
    this.#bytes -= this.#debts.get(debtor)?.bytes ?? 0;
    this.#debts.delete(debtor);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #see(debtor: OutputDebtor, debt: Debt): void {
    const bytes = debtor.unreadBytes;
    this.#bytes += bytes - debt.bytes;
    debt.bytes = bytes;
  }

  /** Others may have read since they were seen. */
  #cutLargest(): void {
    for (const [debtor, debt] of this.#debts) this.#see(debtor, debt);
    while (this.#bytes > MAX_UNREAD_BYTES) {
      let largest: OutputDebtor | undefined;
      let most = 0;
      for (const [debtor, { bytes }] of this.#debts) {
        if (bytes <= most) continue;
        largest = debtor;
        most = bytes;
      }
      if (largest === undefined) return;
      this.gone(largest);
      largest.cutOff(
        `what clients have not read took over ${MAX_UNREAD_BYTES} bytes, and this one's most; read faster`,
      );
    }
  }

  #watch(): void {
    this.#timer ??= this.#clock.setTimer(LOOK_MS, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  #look(): void {
    for (const [debtor, debt] of this.#debts) {
      this.#see(debtor, debt);
      if (debt.bytes === 0) {
        this.#debts.delete(debtor);
        continue;
      }
      const read = debtor.sentBytes - debt.bytes;
      if (read > debt.read) {
        debt.read = read;
        debt.idleLooks = 0;
        continue;
      }
      debt.idleLooks += 1;
      if (debt.idleLooks < MAX_UNREAD_SECONDS) continue;
      this.gone(debtor);
      debtor.cutOff(`nothing of what was sent has been read for ${MAX_UNREAD_SECONDS} s`);
    }
    if (this.#debts.size > 0) this.#watch();
  }
}
