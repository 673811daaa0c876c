/** The titles of all tests, as their files have them: of `it('…')`, and of `it.each(…)('…')`. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** Before the name of a case: the test of its transcript, beside the one that carries its name alone. */
export const TRANSCRIPT = 'transcript ';

const TRANSCRIPTS = 'packages/raft/test/core/transcripts';
const ROOTS = ['packages', 'jepsen-lite', 'bench'];

/** @typedef {{ file: string, title: string, names: string[] }} TaggedTest a test whose title names cases in brackets at its end */

/**
 * @param {string} root of the repository
 * @returns {TaggedTest[]}
 */
export function taggedTests(root) {
  return testFiles(root).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    if (!source.includes(']')) return [];
    return titlesOf(file, source).flatMap((title) => {
      const [tags] = /(?: \[[^\][]+\])+$/.exec(title) ?? [];
      if (tags === undefined) return [];
      const tagged = [...tags.matchAll(/\[([^\]]+)\]/g)].map(([, name]) => name ?? '');
      const names = tagged.filter((name) => !name.startsWith(TRANSCRIPT));
      return [{ file, title: title.slice(0, -tags.length), names }];
    });
  });
}

/**
 * @param {string} root of the repository
 * @returns {ReadonlyMap<string, string>} the file of each case that has a transcript
 */
export function transcripts(root) {
  return new Map(
    readdirSync(join(root, TRANSCRIPTS)).map((file) => [file.replace(/\.txt$/, ''), `${TRANSCRIPTS}/${file}`]),
  );
}

function testFiles(root) {
  return ROOTS.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') && !/(?:^|\/)(?:node_modules|dist|fixtures)\//.test(path))
      .map((path) => `${directory}/${path}`),
  ).toSorted();
}

function titlesOf(file, source) {
  const titles = [];
  const { program } = parseSync(file, source);
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (!isIt(callee)) return;
      if (title?.type === 'Literal' && typeof title.value === 'string') titles.push(title.value);
    },
  }).visit(program);
  return titles;
}

/** `it`, `it.skip` and the like, or what `it.each(…)` returns. */
function isIt(callee) {
  if (callee.type === 'Identifier') return callee.name === 'it';
  if (callee.type === 'CallExpression') return isIt(callee.callee);
  return callee.type === 'MemberExpression' && isIt(callee.object);
}
