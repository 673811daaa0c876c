// What publint and attw have to say of the tarballs.

import { PUBLIC_PACKAGES } from '../pack/packages.mjs';
import { command } from './command.mjs';

export function lintCases(tools, packed) {
  const isLibrary = (name) =>
    PUBLIC_PACKAGES.some(({ folder, kind }) => kind === 'library' && name === `@holdfast/${folder}`);
  return packed.flatMap(({ name, tarball }) => [
    { name: `publint: ${name}`, run: () => command(process.execPath, [tools.publint, 'run', tarball, '--strict']) },
    // A program has nothing to import.
    ...(isLibrary(name)
      ? [{ name: `attw: ${name}`, run: () => command(process.execPath, [tools.attw, tarball]) }]
      : []),
  ]);
}
