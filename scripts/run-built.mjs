// Runs a built program in this process, and compiles only if a source is newer than the last compilation: `lockctl` is called often.
// Usage: node scripts/run-built.mjs PROGRAM.js [ARGUMENT...]

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureBuilt } from './runner/built.mjs';
import { root } from './runner/tool.mjs';

const [program, ...args] = process.argv.slice(2);
const entry = resolve(root, program);
if (!ensureBuilt(entry)) process.exit(1);
process.argv = [process.execPath, entry, ...args];
process.setSourceMapsEnabled(true);
await import(pathToFileURL(entry).href);
