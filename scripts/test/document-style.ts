// What makes a page hard to read and can be counted: long sentences, full cells, long lines.

import type { Nodes, PhrasingContent, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { toString } from 'mdast-util-to-string';
import { gfmTable } from 'micromark-extension-gfm-table';

/** Of a sentence: a code span is one word, and signs between words are none. */
const MAX_WORDS = 25;
/** Of a cell as it is shown, so without the targets of links. */
const MAX_CELL_LENGTH = 120;
/** Of a line of prose in the file. */
const MAX_LINE_LENGTH = 160;
/** Of the cells of a row together, which cannot be broken. */
const MAX_ROW_LENGTH = 200;

/** A capital letter, so that a sentence may begin with one. */
const CODE_SPAN = 'Code';
/** Their full stop ends no sentence. */
const ABBREVIATIONS = ['e.g', 'i.e', 'cf', 'vs', 'p', 'pp', 'fig'];

/** @returns one line for each problem, the line of the page first. */
export function styleProblems(markdown: string): readonly string[] {
  const tree = fromMarkdown(markdown, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });
  const unbroken = new Set<number>();
  const problems = [...problemsOf(tree, unbroken)];
  for (const [place, line] of markdown.split('\n').entries())
    if (line.length > MAX_LINE_LENGTH && !unbroken.has(place + 1))
      problems.push(`${place + 1}: a line of ${line.length} characters: ${beginning(line)}`);
  return problems;
}

/** @param unbroken takes the lines that are of something else than prose */
function* problemsOf(node: Nodes, unbroken: Set<number>): Generator<string> {
  const line = node.position?.start.line ?? 0;
  if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') {
    for (const sentence of sentencesOf(node.children)) {
      const words = wordsOf(sentence).length;
      if (words > MAX_WORDS) yield `${line}: a sentence of ${words} words: ${beginning(sentence)}`;
    }
    return;
  }
  if (node.type === 'code' || node.type === 'html' || node.type === 'table')
    for (let each = line; each <= (node.position?.end.line ?? 0); each++) unbroken.add(each);
  if (node.type === 'table') yield* problemsOfRows(node);
  if ('children' in node) for (const child of node.children) yield* problemsOf(child, unbroken);
}

function* problemsOfRows(table: Table): Generator<string> {
  for (const { children, position } of table.children) {
    const texts = children.map((cell) => toString(cell));
    for (const text of texts) {
      if (text.length > MAX_CELL_LENGTH)
        yield `${position?.start.line}: a cell of ${text.length} characters: ${beginning(text)}`;
    }
    const { length } = texts.join('');
    if (length > MAX_ROW_LENGTH) yield `${position?.start.line}: a row of ${length} characters`;
  }
}

/** A full stop ends a sentence before white space and anything but a small letter; that of an abbreviation never does. */
function sentencesOf(content: readonly PhrasingContent[]): readonly string[] {
  const text = content.map(plain).join('').replaceAll(/\s+/g, ' ').trim();
  const sentences: string[] = [];
  let start = 0;
  for (const { 0: end, 1: word = '', index } of text.matchAll(/(\S*?)[.!?][)\]"'’”]*(?= [^\p{Ll}])/gu)) {
    if (ABBREVIATIONS.includes(word.replace(/^\W+/, '').toLowerCase())) continue;
    sentences.push(text.slice(start, index + end.length).trim());
    start = index + end.length;
  }
  return [...sentences, text.slice(start).trim()].filter((sentence) => sentence !== '');
}

function plain(node: PhrasingContent): string {
  if (node.type === 'inlineCode') return CODE_SPAN;
  if (node.type === 'html') return '';
  if (node.type === 'break') return ' ';
  return 'children' in node ? node.children.map(plain).join('') : toString(node);
}

function wordsOf(sentence: string): readonly string[] {
  return sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word));
}

function beginning(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
