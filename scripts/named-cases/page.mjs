/** docs/named-cases.md, and what is wrong with the cases that it is made of. */

import { CASE_GROUPS } from './cases.mjs';

/** @typedef {import('./cases.mjs').NamedCase} NamedCase */
/** @typedef {import('./titles.mjs').TaggedTest} TaggedTest */

export const PAGE = 'docs/named-cases.md';

/** @type {readonly NamedCase[]} */
export const CASES = CASE_GROUPS.flatMap(({ cases }) => cases);

const HEAD = `# Named cases

Bugs that other implementations of Raft have had, by the names under which we keep them. Each has a test that carries its name, in brackets at
the end of its title, or a reason why it cannot arise here. \`pnpm exec vitest run --project fast -t prevote-resets-vote\` runs one.

The last column names the [planted bug](testing.md#planted-bugs) that brings the case about. \`node scripts/named-cases.mjs mutants\` plants them
and demands that the test of the case fails; *alone* says that no other named test does.

The subtle ones have a [transcript](#transcripts), too: what happens to a few servers, command by command, and what the real core does. The planted bug
must change it.

This page is generated: \`node scripts/named-cases.mjs\` writes it.
`;

/**
 * Names that no test or more than one has, tests that name no case, mutants that do not exist.
 * @param {readonly TaggedTest[]} tests
 * @param {ReadonlySet<string>} mutants
 * @param {ReadonlyMap<string, string>} transcripts
 * @returns {string[]}
 */
export function problems(tests, mutants, transcripts) {
  const found = [];
  const known = new Set(CASES.map(({ name }) => name));
  if (known.size !== CASES.length) found.push('a case is there twice');
  for (const { file, title, names } of tests)
    for (const name of names) if (!known.has(name)) found.push(`${file}: "${title}" names "${name}", which is no case`);
  for (const { name, impossible, mutant } of CASES) {
    const count = tests.flatMap(({ names }) => names.filter((other) => other === name)).length;
    const expected = impossible === undefined ? 1 : 0;
    if (count !== expected) found.push(`${name}: ${count} tests carry its name, not ${expected}`);
    if (mutant !== undefined && !mutants.has(mutant)) found.push(`${name}: there is no mutant "${mutant}"`);
  }
  for (const [name, file] of transcripts) {
    const mutant = CASES.find((each) => each.name === name)?.mutant;
    if (mutant === undefined) found.push(`${file}: there is no case "${name}" with a planted bug`);
  }
  return found;
}

/**
 * @param {readonly TaggedTest[]} tests
 * @param {ReadonlyMap<string, string>} transcripts
 * @returns {string}
 */
export function renderPage(tests, transcripts) {
  const groups = CASE_GROUPS.map(({ title, cases }) => {
    const rows = cases.map(
      (each) => `| ${[`\`${each.name}\``, each.source, whereOf(each, tests), mutantOf(each)].join(' | ')} |`,
    );
    return `## ${title}\n\n| case | source | test | mutant |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  const impossible = CASES.filter((each) => each.impossible !== undefined).length;
  const planted = CASES.filter(({ mutant }) => mutant !== undefined);
  const alone = planted.filter(({ others }) => others === undefined).length;
  const count = `${CASES.length} cases: ${CASES.length - impossible} with a test, ${impossible} that cannot arise. ${transcripts.size} have a transcript, ${planted.length} a planted bug, ${alone} of which fail that test alone.\n`;
  const readable = [...transcripts].map(([name, file]) => `- [${name}](../${file})`);
  return [HEAD, count, ...groups, `## Transcripts\n\n${readable.join('\n')}\n`].join('\n');
}

/**
 * @param {NamedCase} namedCase
 * @param {readonly TaggedTest[]} tests
 */
function whereOf({ name, impossible }, tests) {
  if (impossible !== undefined) return `cannot arise. ${impossible}`;
  const test = tests.find(({ names }) => names.includes(name));
  if (test === undefined) return '';
  const file = test.file.split('/').at(-1) ?? '';
  return `[${file}](../${test.file})`;
}

/** @param {NamedCase} namedCase */
function mutantOf({ mutant, others }) {
  if (mutant === undefined) return '';
  return others === undefined ? `\`${mutant}\`, alone` : `\`${mutant}\``;
}
