/** How long the files and functions of the sources are, and how full their folders. Rounded, so that few commits change the page. */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Visitor, parseSync } from 'oxc-parser';

import { packageFolders } from '../package-folders.mjs';
import { code, page, table } from './markdown.mjs';

const OTHER_PACKAGES = ['jepsen-lite', 'bench'];
/** Lines that a file and a function seldom need. */
const LONG_FILE = 300;
const LONG_FUNCTION = 70;
const STEP_OF_FILES = 10;
const STEP_OF_LINES = 1_000;
const STEP_OF_LONG_FILES = 50;
const TENS = 10;
/** Folders at the bound of the floors. */
const FULL_FOLDER = 15;

const INTRO = `Of the files under \`src\`, without tests; lines include comments and blank ones. Figures are rounded, so that few commits
change this page: files of a package to ${STEP_OF_FILES} and its lines to ${STEP_OF_LINES.toLocaleString('en-US')}. Lines of a long file are rounded
down to ${STEP_OF_LONG_FILES}, others to ${TENS}.`;

export const sizesPage = {
  file: 'sizes.md',
  render(root) {
    const packages = packageFolders(root).map((name) => `packages/${name}`);
    const sources = [...packages, ...OTHER_PACKAGES].map((name) => ({ name, files: sourcesOf(root, name) }));
    const files = sources.flatMap((source) => source.files);
    const functions = files.flatMap(({ path, text }) => functionsOf(path, text));
    const counts = new Map();
    for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    const full = [...counts].filter(([, count]) => count >= FULL_FOLDER).map(([folder]) => folder);
    return page(
      'Sizes',
      INTRO,
      '## Packages',
      table(
        ['package', 'files', 'lines', 'longest file'],
        sources.map(({ name, files: own }) => {
          const longest = own.reduce((left, right) => (right.lines > left.lines ? right : left));
          const lines = own.reduce((sum, file) => sum + file.lines, 0);
          const figures = [rounded(own.length, STEP_OF_FILES), rounded(lines, STEP_OF_LINES)];
          return [code(name), ...figures, fileLink(longest.path)];
        }),
      ),
      `The median file has ${Math.floor(median(files) / TENS) * TENS} lines, the median function ${median(functions)}.`,
      `## Files of more than ${LONG_FILE} lines`,
      table(
        ['file', 'lines'],
        longer(files, LONG_FILE, STEP_OF_LONG_FILES).map(({ path, lines }) => [fileLink(path), lines]),
      ),
      `## Functions of more than ${LONG_FUNCTION} lines`,
      table(
        ['function', 'file', 'lines'],
        longer(functions, LONG_FUNCTION, TENS).map(({ name, path, lines }) => [code(name), fileLink(path), lines]),
      ),
      `## Folders of ${FULL_FOLDER} files`,
      'The floors refuse one more.',
      full
        .toSorted((left, right) => (left < right ? -1 : 1))
        .map((folder) => `- ${code(folder)}`)
        .join('\n'),
    );
  },
};

/** @returns {{ name: string, path: string, lines: number }[]} an unnamed one has the name of what it is assigned or given to, if any */
export function functionsOf(path, text) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const names = new Map();
  const found = [];
  const add = (node) => {
    if (node.body === null) return;
    const lines = text.slice(node.start, node.end).split('\n').length;
    found.push({ name: node.id?.name ?? names.get(node) ?? 'anonymous', path, lines });
  };
  const naming = (value, key) => names.set(value, key?.name ?? key?.value);
  new Visitor({
    VariableDeclarator: ({ id, init }) => naming(init, id),
    Property: ({ key, value }) => naming(value, key),
    MethodDefinition: ({ key, value }) => naming(value, key),
    PropertyDefinition: ({ key, value }) => naming(value, key),
    FunctionDeclaration: add,
    FunctionExpression: add,
    ArrowFunctionExpression: add,
  }).visit(program);
  return found;
}

function sourcesOf(root, name) {
  const source = join(root, name, 'src');
  if (!existsSync(source)) return [];
  return readdirSync(source, { recursive: true })
    .map((file) => `${name}/src/${file.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, text, lines: text.trimEnd().split('\n').length };
    });
}

function longer(items, bound, step) {
  const down = (lines) => Math.floor(lines / step) * step;
  return items
    .filter(({ lines }) => lines > bound)
    .map((item) => ({ ...item, lines: `${down(item.lines)}` }))
    .toSorted((left, right) => right.lines - left.lines || (left.path < right.path ? -1 : 1));
}

function median(items) {
  return items.map(({ lines }) => lines).sort((left, right) => left - right)[items.length >> 1];
}

function rounded(count, step) {
  return (Math.round(count / step) * step).toLocaleString('en-US');
}

function fileLink(path) {
  return `[${path.replace(/^packages\//, '').replace('/src/', '/')}](../../${path})`;
}
