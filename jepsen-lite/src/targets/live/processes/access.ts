/** Who else may read what servers and store have stored. */

import { existsSync, readdirSync, statSync, type Dirent } from 'node:fs';
import { join } from 'node:path';

/** Of the group and of everybody else: to read, to write, to execute. */
const OTHERS = 0o077;

/**
 * Files and directories below a directory, itself among them, that other users of the machine have any right to. Sockets are left out, and
 * not even looked at: on Node 20 the module loader takes the next symbolic link to a package for what was looked at last.
 */
export function openToOthers(directory: string): string[] {
  // One that left the ensemble for good may have nothing.
  if (!existsSync(directory)) return [];
  const below = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .map(pathOf);
  return [directory, ...below].filter((path) => {
    // A server that lives removes files, too.
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & OTHERS) !== 0;
  });
}

function pathOf({ parentPath, name }: Dirent): string {
  return join(parentPath, name);
}
