/**
 * The events of an EDN file as texts of their own, with their lines: a vector or list of maps, or maps one after the other. The library that
 * reads each knows neither lines nor whether brackets match.
 */

import { HistoryFormatError } from '../json-line.ts';

export interface Form {
  readonly line: number;
  /** Without comments. */
  readonly text: string;
}

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']', '(': ')' };
const SPACE = /[\s,]/;

/** @throws HistoryFormatError */
export function* formsOf(text: string): Generator<Form> {
  // Brackets that are open, innermost last; the one around all forms is no part of any.
  const open: { readonly closing: string; readonly line: number }[] = [];
  let around = 0;
  let line = 1;
  let form = '';
  let formLine = 1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\n') line += 1;
    if (character === ';') {
      at = endOfLine(text, at) - 1;
      continue;
    }
    const isOutside = form === '' && open.length === around;
    if (isOutside && SPACE.test(character)) continue;
    if (isOutside && around === 0 && (character === '[' || character === '(')) {
      around = 1;
      open.push({ closing: CLOSING[character] ?? '', line });
      continue;
    }
    if (character === ')' || character === ']' || character === '}') {
      const innermost = open.pop();
      if (innermost?.closing !== character) throw new HistoryFormatError(line, `"${character}" closes nothing`);
      if (open.length < around) {
        around = 0;
        continue;
      }
    }
    if (form === '') formLine = line;
    const token = tokenAt(text, at, line);
    form += token;
    at += token.length - 1;
    line += newLines(token) - (character === '\n' ? 1 : 0);
    if (character in CLOSING) open.push({ closing: CLOSING[character] ?? '', line });
    if (character === '}' && open.length === around) {
      yield { line: formLine, text: form };
      form = '';
    }
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined)
    throw new HistoryFormatError(unclosed.line, `what opens here has no "${unclosed.closing}"`);
  if (form !== '') throw new HistoryFormatError(formLine, `${form.slice(0, 40)} is not a map`);
}

/** A string or character whole, whatever brackets are in it; otherwise the one character. */
function tokenAt(text: string, at: number, line: number): string {
  const character = text[at] ?? '';
  if (character === '\\') return text.slice(at, at + 2);
  if (character !== '"') return character;
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === '\\') end += 1;
    else if (text[end] === '"') return text.slice(at, end + 1);
  }
  throw new HistoryFormatError(line, 'the string that begins here has no end');
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

function newLines(text: string): number {
  return text.split('\n').length - 1;
}
