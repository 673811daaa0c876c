// How long @holdfast/testing takes to load and to start, as it is installed: each figure the median of processes that begin anew.
// node scripts/twin-start.mjs [PROCESSES]

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';

import { pack } from './pack/pack.mjs';

const root = dirname(import.meta.dirname);
const processes = Number(process.argv[2] ?? 9);
if (!Number.isSafeInteger(processes) || processes < 1) {
  console.error('say how many processes: a whole number from 1 on');
  process.exit(2);
}

const MEASURED = `
const begin = performance.now();
const { testEnsemble } = await import('@holdfast/testing');
const loaded = performance.now();
const started = [];
for (let n = 0; n < 6; n += 1) {
  const before = performance.now();
  const ensemble = await testEnsemble({ servers: Number(process.argv[2]) });
  started.push(performance.now() - before);
  await ensemble.close();
}
console.log(JSON.stringify({ load: loaded - begin, first: started[0], sixth: started[5] }));
`;

const place = mkdtempSync(join(tmpdir(), 'holdfast-twin-'));
try {
  const out = join(place, 'packed');
  mkdirSync(out);
  const packed = await pack(root, out, ['client', 'testing']);
  const modules = join(place, 'node_modules');
  mkdirSync(join(modules, '@holdfast'), { recursive: true });
  for (const { name, directory } of packed) symlinkSync(directory, join(modules, name));
  link(modules, 'packages/runtime', 'ws');
  writeFileSync(join(place, 'measured.mjs'), MEASURED);
  // Symlinks are kept, so that each of ours finds the others beside it.
  const run = (servers) =>
    JSON.parse(
      execFileSync(process.execPath, ['--preserve-symlinks', 'measured.mjs', String(servers)], {
        cwd: place,
      }).toString(),
    );
  for (const servers of [3, 1]) {
    const all = Array.from({ length: processes }, () => run(servers));
    const of = (figure) => `${median(all.map((each) => each[figure])).toFixed(0)} ms`;
    console.log(`${servers} servers: load ${of('load')}, first start ${of('first')}, sixth ${of('sixth')}`);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** A library of others with all that it needs, as the package of the workspace finds it. */
function link(modules, from, name) {
  if (existsSync(join(modules, name))) return;
  const entry = createRequire(resolve(root, from, 'package.json')).resolve(name);
  const inside = `${sep}node_modules${sep}${join(name)}${sep}`;
  const directory = entry.slice(0, entry.lastIndexOf(inside) + inside.length - 1);
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(directory, join(modules, name));
  const { dependencies = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  for (const each of Object.keys(dependencies)) link(modules, directory, each);
}

function median(values) {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)];
}
