import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RaftLog } from '../../../src/core/log/log.ts';
import { EntryType, logIndex, term, type LogPosition } from '../../../src/core/types.ts';

/** The same log as a list of terms, one an entry. */
class ListedLog {
  base: LogPosition = { index: logIndex(0), term: term(0) };
  terms: number[] = [];

  get lastIndex(): number {
    return this.base.index + this.terms.length;
  }

  get lastTerm(): number {
    return this.terms.at(-1) ?? this.base.term;
  }

  termAt(index: number): number | undefined {
    return index === this.base.index ? this.base.term : this.terms[index - this.base.index - 1];
  }

  compactTo(index: number): void {
    const baseTerm = this.termAt(index) ?? 0;
    this.terms = this.terms.slice(index - this.base.index);
    this.base = { index: logIndex(index), term: term(baseTerm) };
  }

  lastIndexWithTermAtMost(from: number, limit: number): number {
    let index = from;
    while (index > this.base.index && (this.termAt(index) ?? 0) > limit) index -= 1;
    if (index === this.base.index && this.base.term > limit) index -= 1;
    return Math.max(0, index);
  }
}

const operations = fc.array(
  fc.record({
    kind: fc.constantFrom('append', 'append', 'append', 'truncate', 'compact', 'begin'),
    // Of the entries that there are, from the first to behind the last.
    place: fc.double({ min: 0, max: 1, noNaN: true }),
    termsOn: fc.constantFrom(0, 0, 0, 1, 2),
  }),
  { maxLength: 60 },
);

describe('the log as the core sees it', () => {
  it('knows the terms of its entries after any appends, truncations and compactions', () => {
    fc.assert(
      fc.property(operations, (steps) => {
        const listed = new ListedLog();
        const limits = { tailBytes: Infinity, replicatedTailBytes: Infinity };
        const log = new RaftLog({ base: listed.base, terms: [], lastIndex: listed.base.index }, limits);
        for (const { kind, place, termsOn } of steps) {
          const chosen = listed.base.index + Math.round(place * listed.terms.length);
          if (kind === 'append') {
            const next = Math.max(1, listed.lastTerm + termsOn);
            log.append({
              index: logIndex(listed.lastIndex + 1),
              term: term(next),
              type: EntryType.command,
              data: new Uint8Array(),
            });
            listed.terms.push(next);
          } else if (kind === 'truncate') {
            log.truncateFrom(logIndex(chosen + 1));
            listed.terms.length = chosen - listed.base.index;
          } else if (kind === 'compact') {
            log.compactTo(logIndex(chosen));
            listed.compactTo(chosen);
          } else {
            listed.base = { index: logIndex(listed.lastIndex + termsOn), term: term(listed.lastTerm + termsOn) };
            listed.terms = [];
            log.beginAt(listed.base);
          }
          expectSame(log, listed);
        }
      }),
    );
  });
});

function expectSame(log: RaftLog, listed: ListedLog): void {
  expect([log.base, log.lastIndex, log.lastTerm]).toEqual([listed.base, listed.lastIndex, listed.lastTerm]);
  for (let index = Math.max(0, listed.base.index - 1); index <= listed.lastIndex + 1; index += 1) {
    const known = index >= listed.base.index ? listed.termAt(index) : undefined;
    expect(log.termAt(logIndex(index))).toBe(known);
  }
  for (let index: number = listed.base.index; index <= listed.lastIndex; index += 1) {
    for (let limit = 0; limit <= listed.lastTerm + 1; limit += 1) {
      const found = log.lastIndexWithTermAtMost(logIndex(index), term(limit));
      expect(found, `at most ${limit} from ${index}`).toBe(listed.lastIndexWithTermAtMost(index, limit));
    }
  }
}
