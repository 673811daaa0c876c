/** How the programs end, for service managers and scripts. */

import { join } from 'node:path';

import { EXIT_CODE } from '../../packages/fenced-kv/dist/daemon/exit-code.js';
import * as lockctl from '../../packages/lockctl/dist/exit-code.js';
import { ExitCode } from '../../packages/lockd/dist/exit-code.js';
import { code, page, table } from './markdown.mjs';
import { firstSentence, parseSource, propertiesOf } from './source.mjs';

const LOCKCTL = new Map(Object.entries(lockctl));
const HEADINGS = ['exit code', 'name', 'meaning', 'what to do'];

export const exitCodesPage = {
  file: 'exit-codes.md',
  render(root) {
    const lockd = propertiesOf(join(root, 'packages/lockd/src/exit-code.ts'), 'ExitCode');
    const store = propertiesOf(join(root, 'packages/fenced-kv/src/daemon/exit-code.ts'), 'EXIT_CODE');
    const { constants } = parseSource(join(root, 'packages/lockctl/src/exit-code.ts'));
    return page(
      'Exit codes',
      'What to do is described in full by [operations.md](../operations.md).',
      '## lockd',
      table(
        HEADINGS,
        lockd.map(({ name, doc }) => row(ExitCode[name], name, doc)),
      ),
      '## fenced-kvd',
      table(
        HEADINGS,
        store.map(({ name, doc }) => row(EXIT_CODE[name], name, doc)),
      ),
      '## lockctl',
      table(
        HEADINGS,
        constants.map(({ name, doc }) => row(LOCKCTL.get(name), name, doc)),
      ),
    );
  },
};

/** The first sentence of the doc comment says what happened, the rest what to do. */
function row(number, name, doc) {
  if (doc === '') throw new Error(`the exit code ${name} has no doc comment`);
  const what = firstSentence(doc);
  return [String(number), code(name), what, doc.slice(what.length).trim()];
}
