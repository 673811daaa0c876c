/**
 * What a client may expect once nothing is wrong any more: a command that waits for nobody is answered before the SDK gives it up. One
 * that was lost between servers that go on living would otherwise show as a mere delay.
 */

import type { HistoryEventBody } from '../../../history/history.ts';
import type { Report } from '../../../checkers/violation.ts';

/** Acquires wait for others, and the store has an answer of its own. */
const ANSWERED_AT_ONCE: ReadonlySet<string> = new Set(['create', 'delete', 'set', 'read', 'release']);

export class AnswerInvariants {
  readonly #report: Report;
  readonly #calls = new Set<number>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** `healed`: nothing is wrong from now on. */
  recorded(who: string, event: HistoryEventBody, healed: boolean): void {
    if (event.type === 'invoke') {
      if (healed && ANSWERED_AT_ONCE.has(event.f)) this.#calls.add(event.call);
    } else if ((event.type === 'info' || event.type === 'fail') && event.code === 'TIMEOUT') {
      if (!this.#calls.has(event.call)) return;
      this.#report('the-healed-cluster-answers', `${who} was not answered in time: ${JSON.stringify(event)}`);
    }
  }
}
