/** The codes with which requests are refused. */

import { join } from 'node:path';

import { ERROR_CODES } from '../../packages/protocol/dist/error-code.js';
import { code, page, table } from './markdown.mjs';
import { firstSentence, propertiesOf } from './source.mjs';

const INTRO = `A name never changes its meaning or its number. A client reads a code that it does not know as \`UNSUPPORTED\`.

*Retryable*: the same call may succeed later without anybody changing it.
*Indeterminate*: the request may have taken effect, or may still do so.`;

export const errorCodesPage = {
  file: 'error-codes.md',
  render(root) {
    const docs = propertiesOf(join(root, 'packages/protocol/src/error-code.ts'), 'ERROR_CODES');
    const rows = Object.entries(ERROR_CODES).map(([name, { wire, retryable, indeterminate }]) => {
      const { doc } = docs.find((each) => each.name === name);
      if (doc === '') throw new Error(`the error code ${name} has no doc comment`);
      return [String(wire), code(name), retryable ? 'yes' : '', indeterminate ? 'yes' : '', firstSentence(doc)];
    });
    return page('Error codes', INTRO, table(['number', 'code', 'retryable', 'indeterminate', 'meaning'], rows));
  },
};
