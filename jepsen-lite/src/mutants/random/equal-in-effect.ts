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
  /** The line before it, where the same line stands elsewhere, too. */
  readonly behind?: string;
  /** What stands there, where the line has several places for the rule. */
  readonly before?: string;
  readonly because: string;
}

export const EQUAL_IN_EFFECT: readonly EqualInEffect[] = [
  {
    file: 'core/log/log.js',
    rule: 'comparison',
    line: 'if (index <= this.base.index)',
    because: 'a compaction up to where the log begins already leaves base, runs and entries as they are',
  },
  {
    file: 'core/log/term-runs.js',
    rule: 'comparison',
    line: 'if (base.index <= this.#base.index)',
    because: 'a compaction up to where the log begins already leaves base and runs as they are',
  },
  {
    file: 'core/log/term-runs.js',
    rule: 'off-by-one',
    line: 'const first = this.#runs.findLastIndex((run) => run.firstIndex <= base.index + 1);',
    because: 'a run too many stays in front of those that count, and all are looked up from behind (log.test.ts)',
  },
  {
    file: 'core/log/term-runs.js',
    rule: 'comparison',
    line: 'const first = this.#runs.findLastIndex((run) => run.firstIndex <= base.index + 1);',
    because: 'a run too many stays in front of the one that begins there, and terms are looked up from behind',
  },
  {
    file: 'core/types.js',
    rule: 'comparison',
    line: 'return a > b ? a : b;',
    behind: 'export function maxIndex(a, b) {',
    because: 'of two equal numbers either is the larger',
  },
  {
    file: 'core/types.js',
    rule: 'comparison',
    line: 'return a > b ? a : b;',
    behind: 'export function maxTerm(a, b) {',
    because: 'of two equal numbers either is the larger',
  },
  {
    file: 'core/types.js',
    rule: 'comparison',
    line: 'return a < b ? a : b;',
    because: 'of two equal numbers either is the smaller',
  },
  {
    file: 'log-store/recovery/repair.js',
    rule: 'dropped-statement',
    line: 'await disk.syncDirectory(directory);',
    because:
      'a start syncs the directory before it uses the log; a crash before that repairs again, whichever names are left',
  },
  {
    file: 'log-store/directory/data-directory.js',
    rule: 'swapped-arguments',
    line: 'if (members.length > 0 && !sameMembers(members, identity.members)) {',
    because: 'whether two lists of different ids have the same members does not depend on which is named first',
  },
  {
    file: 'sessions/renewals.js',
    rule: 'dropped-statement',
    line: 'this.#deps.leases.renew(session);',
    behind: 'for (const session of sessions)',
    because:
      'the end of the same turn renews them again before anything else runs; until a leader is ready nobody expires',
  },
  {
    file: 'queries/listing-index.js',
    rule: 'dropped-statement',
    line: 'this.#fresh = new Set();',
    behind: 'this.#reading = undefined;',
    because: 'the index that the next listing begins has none; until then at most 65,536 keys are kept for nothing',
  },
  {
    file: 'sessions/session-table.js',
    rule: 'comparison',
    line: 'if (first === 0 || id < first)',
    before: '<',
    because: 'the sessions of a set are different ones, so that none is as old as another',
  },
  {
    file: 'tree/storage/stored-name.js',
    rule: 'comparison',
    line: 'for (let at = from; at < to; at += 1)',
    behind: 'export function isWide({ text, from, to }) {',
    because: 'behind a part of a path stands a slash, or nothing: neither is wide',
  },
  {
    file: 'snapshot/node-record.js',
    rule: 'comparison',
    line: "wellFormed(end - at >= LOCK_BYTES, () => 'ends within a lock');",
    because: 'a record that ends there has no node behind its lock, and is refused for that',
  },
  {
    file: 'tree/storage/byte-slab.js',
    rule: 'comparison',
    line: 'if (!this.moving && idleUnits > this.#usedUnits / 2 + this.#spareUnits)',
    because: 'at the bound itself a move may as well begin as wait for the next chunk',
  },
  {
    file: 'commands/end-session.js',
    rule: 'dropped-guard',
    line: 'if (last !== undefined && inOrder(node, last) > 0)',
    because: 'what it leaves out would be sorted behind those that are kept: it saves time alone',
  },
  {
    file: 'queries/nodes.js',
    rule: 'off-by-one',
    line: 'if (count * (NAME_OVERHEAD_BYTES + 1) <= limits.maxChildrenBytes) {',
    because: 'the bytes of the names themselves decide: this saves gathering too many of them',
  },
  {
    file: 'driver/catch-up-reader.js',
    rule: 'dropped-guard',
    line: 'if (request === undefined)',
    because: 'the only caller has seen that one waits',
  },
  {
    file: 'log-store/wal/write-ahead-log.js',
    rule: 'min-max',
    line: 'term: maxTerm(image.hardState.term, mark?.term ?? image.hardState.term),',
    because: 'a log that ends before its mark is refused, and one that does not has a term at least as high',
  },
];

/** Why nobody can notice it; undefined when that is not known. `lines` are those of the built file. */
export function equalBecause(mutant: RandomMutant, lines: readonly string[]): string | undefined {
  const [before, line] = [mutant.line - 2, mutant.line - 1].map((at) => (lines[at] ?? '').trim());
  const known = EQUAL_IN_EFFECT.find(
    (equal) =>
      equal.file === mutant.file &&
      equal.rule === mutant.rule &&
      equal.line === line &&
      (equal.behind ?? before) === before &&
      (equal.before ?? mutant.before) === mutant.before,
  );
  return known?.because;
}
