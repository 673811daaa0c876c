/** Log matching: an entry of one index and term has the same content and the same predecessor, whoever has it. */

import { crc32 } from 'node:zlib';
import type { Entry } from '@holdfast/raft';
import type { Report } from '../../../checkers/violation.ts';

interface Seen {
  readonly content: number;
  readonly previousTerm: number;
}

export class LogMatching {
  readonly #report: Report;
  readonly #entries = new Map<number, Seen>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** `previousTerm`: of the entry before the first. */
  written(id: number, entries: readonly Entry[], previousTerm: number): void {
    let previous = previousTerm;
    for (const entry of entries) {
      const key = keyOf(entry);
      const seen = this.#entries.get(key);
      const content = contentOf(entry);
      if (seen === undefined) this.#entries.set(key, { content, previousTerm: previous });
      else if (seen.content !== content || seen.previousTerm !== previous) {
        this.#report(
          'log-matching',
          `entry ${entry.index} of term ${entry.term} at server ${id} is not that of another server, or follows another entry`,
        );
      }
      previous = entry.term;
    }
  }

  /** Whether some server has written just that entry. */
  has(entry: Entry): boolean {
    return this.#entries.get(keyOf(entry))?.content === contentOf(entry);
  }
}

/** Terms stay far below 2^20 in a run. */
function keyOf({ index, term }: Entry): number {
  return index * 2 ** 20 + term;
}

function contentOf({ type, data }: Entry): number {
  return crc32(data, type);
}
