/** The titles of all tests, as their files have them: of `it('…')`, and of `it.each(…)('…')`. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

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
      const names = [...tags.matchAll(/\[([^\]]+)\]/g)].map(([, name]) => name ?? '');
      return [{ file, title: title.slice(0, -tags.length), names }];
    });
  });
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
