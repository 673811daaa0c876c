// The table of what was tried, for docs/packages.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../runner/tool.mjs';

const PAGE = join(root, 'docs/packages.md');
const PLACE = /(?<=<!-- tried -->\n)[\s\S]*?(?=<!-- end of what was tried -->)/;

export function renderTable(rows, runtimes) {
  const headings = ['used as', 'installed by', 'compiled by', ...runtimes.map(({ version }) => `Node.js ${version}`)];
  const lines = rows.map(({ name, installer, compiler, cells }) => [
    name,
    installer,
    compiler,
    ...cells.map((ok) => (ok ? 'runs' : 'FAILS')),
  ]);
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(headings), `|${'---|'.repeat(headings.length)}`, ...lines.map(line)].join('\n');
}

export function writeTable(table) {
  const page = readFileSync(PAGE, 'utf8');
  if (!PLACE.test(page)) throw new Error(`${PAGE} has no place for the table`);
  writeFileSync(PAGE, page.replace(PLACE, `${table}\n`));
}
