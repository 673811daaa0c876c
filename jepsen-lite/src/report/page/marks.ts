/** Verdicts as marks that differ in shape and word, not in colour alone. */

import type { Verdict } from '../../checkers/verdict.ts';
import { markup, type Html } from './html.ts';

interface Mark {
  readonly sign: string;
  readonly word: string;
  readonly name: 'passed' | 'failed' | 'unknown';
}

export function markOf(valid: Verdict['valid']): Mark {
  if (valid === true) return { sign: '✓', word: 'passed', name: 'passed' };
  if (valid === false) return { sign: '✕', word: 'failed', name: 'failed' };
  return { sign: '?', word: 'unknown', name: 'unknown' };
}

export function badge(valid: Verdict['valid']): Html {
  const { sign, word, name } = markOf(valid);
  return markup`<span class="badge ${name}"><span class="sign" aria-hidden="true">${sign}</span>${word}</span>`;
}
