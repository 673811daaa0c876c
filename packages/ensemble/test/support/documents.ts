/**
 * The code blocks of the documents that a reader may want to run: README.md, CONTRIBUTING.md, docs, and what packages are published with.
 *
 * A comment in front of a block says what it needs, or that it is not run:
 *
 *   <!-- not run: WHY -->       only its flags, scripts and paths are checked
 *   <!-- given: DECLARATIONS -->   what a block of JavaScript or TypeScript takes for granted
 *   <!-- runs until stopped -->    the last command is a server, which gets SIGTERM once it serves
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../../../..');

export interface CodeBlock {
  /** `docs/client.md:6`, the line of its fence. */
  readonly at: string;
  readonly language: string;
  readonly text: string;
  readonly notRun: string | undefined;
  readonly given: string;
  readonly untilStopped: boolean;
}

/** Without those that are made by programs. */
function documents(): readonly string[] {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const written = docs.filter((file) => file.endsWith('.md') && !file.startsWith('generated'));
  const folders = [
    ...readdirSync(join(ROOT, 'packages')),
    ...readdirSync(join(ROOT, 'packages/fences')).map((name) => `fences/${name}`),
  ];
  const packages = folders.map((folder) => join('packages', folder, 'npm/README.md'));
  const published = packages.filter((file) => existsSync(join(ROOT, file)));
  return ['README.md', 'CONTRIBUTING.md', ...written.sort().map((file) => join('docs', file)), ...published.sort()];
}

export function codeBlocks(): readonly CodeBlock[] {
  return documents().flatMap((file) => blocksOf(file, readFileSync(join(ROOT, file), 'utf8')));
}

export function blocksOf(file: string, text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const pattern = /((?:^<!-- .*? -->\n+)*)^```(.*)\n([\s\S]*?)^```$/gm;
  for (const { index, 1: markers = '', 2: language = '', 3: content = '' } of text.matchAll(pattern)) {
    const line = text.slice(0, index + markers.length).split('\n').length;
    blocks.push({
      at: `${file}:${line}`,
      language,
      text: content,
      notRun: /<!-- not run: (.*?) -->/.exec(markers)?.[1],
      given: /<!-- given: (.*?) -->/.exec(markers)?.[1] ?? '',
      untilStopped: markers.includes('<!-- runs until stopped -->'),
    });
  }
  return blocks;
}

/** The commands of a block of shell, without comments; `exitCode` is what a comment says (`exits with 2`), or 0. */
export function commandsOf(block: CodeBlock): readonly { readonly text: string; readonly exitCode: number }[] {
  const lines = block.text.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.flatMap((line) => {
    const [text = '', comment = ''] = line.split(/\s+# /);
    if (text.trim() === '' || text.startsWith('#')) return [];
    return [{ text: text.trim(), exitCode: Number(/exits with (\d+)/.exec(comment)?.[1] ?? 0) }];
  });
}

/** Links of the documents, and of those that are made by programs, that lead to no file, or to no heading in it. */
export function deadLinks(): readonly string[] {
  const generated = readdirSync(join(ROOT, 'docs/generated')).map((file) => join('docs/generated', file));
  return [...documents(), ...generated].flatMap((file) => {
    const links = [...prose(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    return links.filter((link) => !/^https?:/.test(link) && !leads(file, link)).map((link) => `${file}: ${link}`);
  });
}

function leads(from: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const to = path === '' ? from : join(from, '..', path);
  if (!existsSync(join(ROOT, to))) return false;
  return heading === undefined || headingsOf(to).includes(heading);
}

/** As GitHub names them. */
function headingsOf(file: string): readonly string[] {
  return [...prose(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** What is not in code blocks. */
function prose(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Commands within a line of text. */
export function inlineCommands(): readonly { readonly at: string; readonly text: string }[] {
  return documents().flatMap((file) => {
    const found = [...prose(file).matchAll(/`((?:lockd|lockctl|fenced-kvd) [^`]*)`/g)];
    return found.map(([, command = '']) => ({ at: file, text: command }));
  });
}
