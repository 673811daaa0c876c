/** Events that every target records in the same form: a fault that begins or ends, and who leads. */

import type { HistoryEventBody, LeadershipEvent } from '../history/history.ts';

export function faultEvent(fault: string, phase: 'begin' | 'end', hosts: readonly string[]): HistoryEventBody {
  return { type: 'fault', fault, phase, ...(hosts.length === 0 ? {} : { hosts: hosts.join(', ') }) };
}

/** Makes events of what servers are seen to be: told as often as one likes, it records only what has changed. */
export class LeadershipRecord {
  readonly #record: (server: string, event: LeadershipEvent) => void;
  readonly #terms = new Map<string, number>();

  constructor(record: (server: string, event: LeadershipEvent) => void) {
    this.#record = record;
  }

  /** `leads`: the term that it leads now; undefined when it leads none, or is down. */
  saw(server: string, leads: number | undefined): void {
    const before = this.#terms.get(server);
    if (before === leads) return;
    if (before !== undefined) this.#record(server, { type: 'leadership', phase: 'end', term: before });
    if (leads === undefined) {
      this.#terms.delete(server);
      return;
    }
    this.#terms.set(server, leads);
    this.#record(server, { type: 'leadership', phase: 'begin', term: leads });
  }
}
