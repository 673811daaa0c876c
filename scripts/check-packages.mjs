// Installs the packed packages as their users do, by npm and by pnpm, and uses them in every module system, under test runners, bundled,
// and on the Node.js lines that can be had. Takes some minutes and a network the first time: what CI runs of it is
// scripts/test/e2e/packages.test.ts.
// Usage: node scripts/check-packages.mjs [--write | --only TEXT]     (build first; --write puts the table into docs/packages.md, --only
// tries what has TEXT in its name)

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { applicationCases, bundleCases, runnerCases } from './check-packages/cases.mjs';
import { installByNpm, installByPnpm } from './check-packages/installations.mjs';
import { lintCases } from './check-packages/linters.mjs';
import { findRuntimes } from './check-packages/runtimes.mjs';
import { startServer } from './check-packages/server.mjs';
import { renderTable, writeTable } from './check-packages/table.mjs';
import { installTools } from './check-packages/tools.mjs';
import { pack } from './pack/pack.mjs';
import { PUBLIC_PACKAGES } from './pack/packages.mjs';
import { root } from './runner/tool.mjs';

const USAGE = 'usage: npx -y pnpm@12 check-packages [--write | --only TEXT]';

function asked() {
  try {
    const options = { write: { type: 'boolean', default: false }, only: { type: 'string', default: '' } };
    const { values } = parseArgs({ options });
    if (values.write && values.only !== '') throw new Error('the table is of everything: --write without --only');
    return values;
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

async function attempt(what, run) {
  const startedAt = performance.now();
  let problem;
  try {
    await run();
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${problem === undefined ? 'ok   ' : 'FAIL '} ${what} (${seconds} s)`);
  if (problem !== undefined) console.log(problem.trimEnd().replaceAll(/^/gm, '      '));
  return problem === undefined;
}

async function check({ write, only }, scratch) {
  const packed = await pack(
    root,
    join(scratch, 'tarballs'),
    PUBLIC_PACKAGES.map(({ folder }) => folder),
  );
  const tools = installTools();
  const runtimes = findRuntimes();
  const byNpm = installByNpm(join(scratch, 'npm'), packed);
  const byPnpm = installByPnpm(join(scratch, 'pnpm'), packed);
  const server = await startServer(byNpm, join(scratch, 'data'));
  const rows = [];
  let ok = true;
  try {
    const env = { HOLDFAST_SERVERS: server.address };
    const cases = [
      ...applicationCases({ tools, byNpm, byPnpm, env }),
      ...runnerCases({ tools, byNpm, env }),
      ...bundleCases({ tools, byNpm, env }),
    ];
    const wanted = ({ name }) => name.includes(only);
    for (const { name, installer, compiler, prepare, run } of cases.filter(wanted)) {
      const prepared = await attempt(`${name}: ${compiler}`, prepare);
      const cells = [];
      for (const { version, node } of runtimes) {
        cells.push(prepared && (await attempt(`${name} on Node.js ${version}`, () => run(node))));
      }
      ok &&= prepared && cells.every(Boolean);
      rows.push({ name, installer, compiler, cells });
    }
    ok = (await attempt('lockctl of its package takes a lock of lockd of its package', () => server.takeLock())) && ok;
    for (const { name, run } of lintCases(tools, packed).filter(wanted)) ok = (await attempt(name, run)) && ok;
  } finally {
    await server.stop();
  }
  const table = renderTable(rows, runtimes);
  console.log(`\n${table}`);
  if (write && ok) writeTable(table);
  return ok;
}

const options = asked();
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-check-packages-'));
try {
  if (!(await check(options, scratch))) process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
