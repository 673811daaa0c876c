/** Writes docs/generated: what the built programs can say of themselves. `--check` says which pages are stale. Build first. */

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { apiPages } from './generated-docs/api.mjs';
import { errorCodesPage } from './generated-docs/error-codes.mjs';
import { exitCodesPage } from './generated-docs/exit-codes.mjs';
import { formatsPage } from './generated-docs/formats.mjs';
import { limitsPage } from './generated-docs/limits.mjs';
import { COMMAND } from './generated-docs/markdown.mjs';
import { metricsPage } from './generated-docs/metrics.mjs';
import { plantedBugsPage } from './generated-docs/planted-bugs.mjs';
import { settingsPage } from './generated-docs/settings.mjs';
import { sizesPage } from './generated-docs/sizes.mjs';

const root = join(import.meta.dirname, '..');
const FOLDER = 'docs/generated';
const PAGES = [
  ...apiPages,
  errorCodesPage,
  exitCodesPage,
  formatsPage,
  limitsPage,
  metricsPage,
  plantedBugsPage,
  settingsPage,
  sizesPage,
];

const [option, ...more] = process.argv.slice(2);
if (more.length > 0 || (option !== undefined && option !== '--check')) {
  process.stderr.write(`usage: ${COMMAND} [--check]\n`);
  process.exit(2);
}

const wanted = new Map();
for (const page of PAGES) wanted.set(page.file, await page.render(root));
const folder = join(root, FOLDER);
mkdirSync(folder, { recursive: true });
const there = readdirSync(folder);
const orphans = there.filter((file) => !wanted.has(file));
const stale = [...wanted].filter(
  ([file, text]) => !there.includes(file) || readFileSync(join(folder, file), 'utf8') !== text,
);

if (option === undefined) {
  for (const [file, text] of stale) writeFileSync(join(folder, file), text);
  for (const file of orphans) rmSync(join(folder, file));
} else if (stale.length + orphans.length > 0) {
  const files = [...stale.map(([file]) => file), ...orphans].join(', ');
  process.stderr.write(`${FOLDER}: ${files}: not what the built programs say; \`${COMMAND}\` writes them anew\n`);
  process.exitCode = 1;
}
