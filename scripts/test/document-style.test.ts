import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { styleProblems } from './document-style.ts';

const ROOT = join(import.meta.dirname, '../..');
const SKIPPED = /^(\..*|node_modules|dist|fixtures)$/;
function pagesIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.test(entry.name)) return [];
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return pagesIn(path);
    return entry.name.endsWith('.md') ? [relative(ROOT, path)] : [];
  });
}

const pages = pagesIn(ROOT);
const words = (count: number) => Array.from({ length: count }, () => 'w').join(' ');

describe('the pages of this repository', () => {
  it('are all found', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'packages/state/README.md', 'docs/raft.md']));
    expect(pages).toEqual(
      expect.arrayContaining(['docs/generated/limits.md', 'docs/decisions/0001-no-lease-reads.md']),
    );
  });

  it.each(pages)('%s has no long sentence, full cell or long line', (page) => {
    expect(styleProblems(readFileSync(join(ROOT, page), 'utf8'))).toEqual([]);
  });
});

describe('the style of a page', () => {
  it('bounds the words of a sentence: in paragraphs, headings, list items, quotes and cells', () => {
    const long = words(26);
    expect(styleProblems(`# ${words(25)}\n\n${words(25)}. W${words(25)}`)).toEqual([]);
    const page = `# ${long}\n\n- a\n  - ${long}\n\n> ${long}\n\n| a |\n|---|\n| ${'w '.repeat(26)} |\n\nShort.\nW${long}`;
    expect(styleProblems(page).map((problem) => problem.slice(0, 27))).toEqual([
      '1: a sentence of 26 words: ',
      '4: a sentence of 26 words: ',
      '6: a sentence of 26 words: ',
      '10: a sentence of 26 words:',
      '12: a sentence of 26 words:',
    ]);
  });

  it('counts a code span, a link of one word and a path as one word, and a sign as none', () => {
    expect(styleProblems(`${words(22)} \`a b. C d\` – [link](a/b) → src/a.ts.`)).toEqual([]);
    expect(styleProblems(`${words(22)} \`a b. C d\` – [two words](a/b) → src/a.ts.`)).toHaveLength(1);
  });

  it.each([
    ['a full stop', `${words(20)}. W ${words(20)}.`],
    ['a full stop within bold text or brackets', `**${words(20)}.** (W ${words(20)}.) W ${words(20)}.`],
    ['a question mark', `${words(20)}? W ${words(20)}.`],
    ['a full stop before code', `${words(20)}. \`w\` ${words(20)}.`],
    ['a full stop before a number', `${words(20)}. 3 ${words(20)}.`],
    ['a full stop before a quotation', `${words(20)}. “W ${words(20)}.”`],
    ['the end of a paragraph', `${words(20)}\n\n${words(20)}`],
    ['the end of a list item', `- ${words(20)}\n- ${words(20)}`],
  ])('takes %s for the end of a sentence', (_, text) => {
    expect(styleProblems(text)).toEqual([]);
  });

  it.each([
    ['an abbreviation', `${words(20)} (e.g. \`x\`, i.e. X) ${words(20)}`],
    ['a decimal', `${words(20)} 3.5 ${words(20)}`],
    ['a file name', `${words(20)} raft.md ${words(20)}`],
    ['code', `${words(20)} \`A. B\` ${words(20)}`],
    ['an ellipsis within', `${words(20)} a … ${words(20)}`],
    ['a colon or semicolon', `${words(20)}: ${words(20)}; x`],
    ['the end of a line', `${words(20)}\n${words(20)}`],
  ])('takes %s for no end of a sentence', (_, text) => {
    expect(styleProblems(text)).toHaveLength(1);
  });

  it('bounds the characters of a cell as it is shown', () => {
    const table = (cell: string) => `| a | b |\n|---|---|\n| x | ${cell} |`;
    expect(styleProblems(table(`[${'x'.repeat(120)}](a/page.md)`))).toEqual([]);
    expect(styleProblems(table(`\`${'x'.repeat(121)}\``))).toEqual([`3: a cell of 121 characters: ${'x'.repeat(60)}…`]);
  });

  it('bounds the characters of the cells of a row together', () => {
    const row = (length: number) => `| a | b |\n|---|---|\n| ${'x'.repeat(100)} | ${'x'.repeat(length - 100)} |`;
    expect(styleProblems(row(200))).toEqual([]);
    expect(styleProblems(row(201))).toEqual(['3: a row of 201 characters']);
  });

  it('bounds the lines of prose, and leaves code and comments alone', () => {
    const long = 'x'.repeat(161);
    expect(styleProblems(`${'x'.repeat(160)}\n\n\`\`\`sh\n${long}\n\`\`\`\n\n<!-- ${long} -->`)).toEqual([]);
    expect(styleProblems(`a\n${long}`)).toEqual([`2: a line of 161 characters: ${'x'.repeat(60)}…`]);
  });
});
