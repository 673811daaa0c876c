/** What each library exports, as its declarations say it. */

import { readInterface } from '../api-reference/interface.mjs';
import { PUBLIC_PACKAGES } from '../pack/packages.mjs';
import { page } from './markdown.mjs';

const KINDS = ['function', 'class', 'interface', 'type', 'constant'];
const TITLES = {
  function: 'Functions',
  class: 'Classes',
  interface: 'Interfaces',
  type: 'Types',
  constant: 'Constants',
};

export const apiPages = PUBLIC_PACKAGES.filter(({ kind }) => kind === 'library').map(({ folder }) => ({
  file: `api-${folder}.md`,
  render(root) {
    const name = `@holdfast/${folder}`;
    const api = readInterface(root, name);
    const sections = KINDS.flatMap((kind) => {
      const some = api.filter((each) => each.kind === kind);
      return some.length === 0 ? [] : [`## ${TITLES[kind]}`, ...some.map(entry)];
    });
    return page(`The interface of ${name}`, 'Every export, with what its doc comment says.', ...sections);
  },
}));

function entry({ name, text }) {
  return `### ${name}\n\n\`\`\`ts\n${text.replace(/^export declare /m, 'export ')}\n\`\`\``;
}
