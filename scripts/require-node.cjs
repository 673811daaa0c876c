// Refuses a Node.js that is too old with one sentence. Old syntax on purpose: any Node.js must be able to read it.
// `engines` alone does nothing, since neither npx nor pnpm enforces it for a script of the repository.
'use strict';

var needed = [20, 19];
var parts = process.versions.node.split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  console.error(
    'Holdfast needs Node.js ' +
      needed.join('.') +
      ' or newer, and this is ' +
      process.versions.node +
      '; install a newer one from https://nodejs.org and run the command again.',
  );
  process.exit(1);
}
if (process.platform === 'win32') {
  console.error('Holdfast runs on Linux and macOS; on Windows use WSL and run the command there.');
  process.exit(1);
}
