// A process of its own that begins a fenced write, waits in its body until a file says how to end, and stands still meanwhile: as any
// body on SQLite does.
// Usage: node writer.mjs '{ "file", "gate", "scope", "holder", "value", "broken" }'

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fenceBy, STEPS } from '../../dist/fence.js';
import { brokenSteps } from './broken.mjs';
import { Database } from './driver.mjs';

const { file, gate, scope, holder, value, broken } = JSON.parse(process.argv[2]);
const PUT =
  'INSERT INTO cells (scope, cell, value) VALUES (?, ?, ?) ON CONFLICT (scope, cell) DO UPDATE SET value = excluded.value';
const sleeper = new Int32Array(new SharedArrayBuffer(4));

function stop() {
  writeFileSync(`${gate}.arrived`, '');
  while (!existsSync(`${gate}.end`)) Atomics.wait(sleeper, 0, 0, 2);
  if (readFileSync(`${gate}.end`, 'utf8') === 'abandon') throw new Error('abandoned');
}

const database = new Database(file);
try {
  const steps = broken === undefined ? STEPS : brokenSteps(broken);
  await fenceBy({ steps, database, scope, holder, options: {} }, (tx) => {
    stop();
    tx.prepare(PUT).run(scope, 'a', value);
  });
  process.exitCode = 0;
} catch (error) {
  writeFileSync(`${gate}.failed`, JSON.stringify({ code: error.code, message: String(error.message) }));
  process.exitCode = 1;
}
