/**
 * Random mutants that were read and found to change nothing that anybody could notice, with the reason. They are told by what stands
 * there and what the rule makes of it, in a line that is named in full: when the line changes, the mutant is a new one.
 */

import type { RandomMutant } from './draw.ts';
import type { Rule } from './sites.ts';

interface EqualInEffect {
  readonly file: string;
  readonly rule: Rule;
  /** The changed line of the built file, without the space around it. */
  readonly line: string;
  readonly because: string;
}

const EQUAL_IN_EFFECT: readonly EqualInEffect[] = [
  {
    file: 'core/log.js',
    rule: 'comparison',
    line: 'if (index <= this.#base.index)',
    because: 'a compaction up to where the log begins already leaves base, marks and entries as they are',
  },
  {
    file: 'core/log.js',
    rule: 'off-by-one',
    line: 'const at = this.#marks.findLastIndex((mark) => mark.firstIndex <= index + 1);',
    because: 'a mark too many stays in front of those that count, and all are looked up from behind (log.test.ts)',
  },
  {
    file: 'log-store/log-image.js',
    rule: 'comparison',
    line: 'const first = this.#terms.findLastIndex((mark) => mark.firstIndex <= base.index + 1);',
    because: 'a mark too many stays in front of the one that begins there, and terms are looked up from behind',
  },
  {
    file: 'core/types.js',
    rule: 'comparison',
    line: 'return a > b ? a : b;',
    because: 'of two equal numbers either is the larger',
  },
  {
    file: 'core/types.js',
    rule: 'comparison',
    line: 'return a < b ? a : b;',
    because: 'of two equal numbers either is the smaller',
  },
  {
    file: 'snapshot/node-record.js',
    rule: 'comparison',
    line: "wellFormed(end - at >= LOCK_BYTES, () => 'ends within a lock');",
    because: 'a record that ends there has no node behind its lock, and is refused for that',
  },
];

/** Why nobody can notice it; undefined when that is not known. */
export function equalBecause(mutant: RandomMutant, line: string): string | undefined {
  const known = EQUAL_IN_EFFECT.find(
    (equal) => equal.file === mutant.file && equal.rule === mutant.rule && equal.line === line.trim(),
  );
  return known?.because;
}
