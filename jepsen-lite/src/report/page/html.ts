/**
 * HTML out of parts: what is put into a template is escaped unless it is HTML itself. A finished page carries its style and script within
 * it, and a policy by which the browser runs nothing else and fetches nothing at all.
 */

import { createHash } from 'node:crypto';

import { visible } from '../words/text.ts';

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Messages are longer than names, and may go over several lines. */
const MAX_PARAGRAPH = 4_000;

export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? '';
  for (const [place, part] of parts.entries()) text += textOf(part) + (strings[place + 1] ?? '');
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escaped(String(part));
}

function escaped(text: string): string {
  const lines = text.slice(0, MAX_PARAGRAPH).split('\n');
  const shown = lines.map((line) => visible(line, MAX_PARAGRAPH)).join('\n');
  return shown.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** As JSON within a script element, in which no text ends the element or begins a comment. */
export function embedded(value: unknown): Html {
  const json = JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
  return new Html(json);
}

export interface Page {
  readonly title: string;
  readonly style: string;
  readonly script: string;
  readonly body: Html;
  /** For the script, as `#data`. */
  readonly data?: unknown;
}

export function document({ title, style, script, body, data }: Page): string {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
${data !== undefined && markup`<script type="application/json" id="data">${embedded(data)}</script>`}
<script>${new Html(script)}</script>
</body>
</html>
`.text;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
