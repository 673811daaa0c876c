/**
 * What a client sends again unasked comes into no log: neither a request without a number, nor one that was answered, nor one that is
 * under way. Every entry of such a client is one that it has sent for the first time, or was asked for again.
 */

import { CommandType, isClientCommand } from '@holdfast/protocol';
import { EntryType, type Entry } from '@holdfast/raft';
import { decodeEntryHeader } from '@holdfast/state';
import type { Report } from '../../../checkers/violation.ts';

export class ReplayInvariants {
  readonly #report: Report;
  /** How many more entries may hold each request, by session and number. */
  readonly #allowed = new Map<number, Map<number, number>>();
  #lastIndex = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  /** For the first time, or because a server has asked for it. */
  sending(session: number, number: number): void {
    const numbers = this.#allowed.get(session) ?? new Map<number, number>();
    this.#allowed.set(session, numbers.set(number, (numbers.get(number) ?? 0) + 1));
  }

  /** Each entry is looked at once, by whichever server applies it first. */
  applied({ index, type, data }: Entry): void {
    if (index <= this.#lastIndex) return;
    this.#lastIndex = index;
    if (this.#allowed.size === 0 || type !== EntryType.command) return;
    const { command, session, number } = decodeEntryHeader(data);
    const numbers = this.#allowed.get(session);
    if (numbers === undefined || !isClientCommand(command) || command === CommandType.attach) return;
    const left = numbers.get(number) ?? 0;
    if (left === 0) {
      this.#report('no-replay-is-in-the-log', `entry ${index} is a copy of request ${number} of session ${session}`);
    }
    numbers.set(number, left - 1);
  }
}
