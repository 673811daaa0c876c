/**
 * A vite plugin for tests of a planted bug: loads other texts in the place of sources, as $HOLDFAST_CHANGED_SOURCES says (a JSON object,
 * paths of sources to paths of what is loaded).
 */

import { readFileSync } from 'node:fs';

interface LoadPlugin {
  readonly name: string;
  readonly enforce: 'pre';
  readonly load: (id: string) => string | undefined;
}

export function changedSources(): LoadPlugin {
  const changed = JSON.parse(process.env['HOLDFAST_CHANGED_SOURCES'] ?? '{}') as Readonly<Record<string, string>>;
  return {
    name: 'holdfast-changed-sources',
    enforce: 'pre',
    load: (id) => {
      const path = Object.hasOwn(changed, id) ? changed[id] : undefined;
      return path === undefined ? undefined : readFileSync(path, 'utf8');
    },
  };
}
