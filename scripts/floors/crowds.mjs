// Folders that hold more files than a reader takes in at once: whoever adds one too many finds the concepts by which to split.

import { posix } from 'node:path';

/** Files of one folder, those of its own folders not counted. */
const MAX_FILES = 15;

/** @returns {string[]} one line a folder, of sources and tests alike */
export function crowdProblems({ files }) {
  const counts = new Map();
  for (const { path } of files) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(
      ([folder, count]) => `${folder}: has ${count} files, at most ${MAX_FILES}; give each of its concepts a folder`,
    );
}
