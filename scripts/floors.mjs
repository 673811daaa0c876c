// Checks that every package imports only from lower floors, that its files import nothing in a circle, that no folder holds too many of
// them, and that the pure folders stay pure. Exits 1 with one line a problem.
// Usage: node scripts/floors.mjs [ROOT]

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { checkFloors } from './floors/check.mjs';

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)));
const problems = checkFloors(root);
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`floors: ${problems.length} problem(s)`);
  process.exitCode = 1;
}
