// The Node.js lines that can be had here: the one that runs this, and the next from the registry.

import { arch, platform } from 'node:os';

import { command } from './command.mjs';

const NEXT = '24.21.0';

/** @returns {{ version: string, node: string }[]} */
export function findRuntimes() {
  const own = { version: process.versions.node, node: process.execPath };
  try {
    const package_ = `node-${platform()}-${arch()}@${NEXT}`;
    const node = command('npx', ['-y', '-p', package_, '-c', 'command -v node']).trim();
    return [own, { version: command(node, ['--version']).trim().slice(1), node }];
  } catch (error) {
    console.log(`Node.js ${NEXT} cannot be had here, so it is left out: ${String(error).split('\n')[0]}`);
    return [own];
  }
}
