import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

/** Tests of an application, as `node --test` runs them; what is imported comes before, in the words of either module system. */
const TESTS = `
let ensemble;
before(async () => (ensemble = await testEnsemble()));
after(() => ensemble.close());

test('a holder whose session expires stops, and the next goes on', async () => {
  const [first, second] = [await ensemble.connect(), await ensemble.connect()];
  const held = await first.lock('jobs').acquire();
  const waiting = second.lock('jobs').acquire();
  await ensemble.expire(first);
  assert.throws(() => held.assertHeld(), LockLostError);
  assert.ok((await waiting).token > held.token);
});

test('several locks are taken at once', async () => {
  const client = await ensemble.connect();
  await client.locks(['a', 'b']).withLock(async (held) => {
    await ensemble.advance('1m');
    held.assertHeld();
  });
});
`;

const IMPORTED = `
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LockLostError } from '@holdfast/client';
import { testEnsemble } from '@holdfast/testing';
${TESTS}`;

const REQUIRED = `
const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { LockLostError } = require('@holdfast/client');
const { testEnsemble } = require('@holdfast/testing');
${TESTS}`;

/** Which files of which packages are loaded until an ensemble serves. */
const LOADED = `
const { testEnsemble } = require('@holdfast/testing');
testEnsemble().then(async (ensemble) => {
  const files = Object.keys(require.cache).filter((file) => file.includes('node_modules'));
  console.log(JSON.stringify(files.map((file) => file.split('node_modules/').at(-1))));
  await ensemble.close();
});
`;

describe('the packed @holdfast/testing', () => {
  let project: string;

  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), 'holdfast-packed-'));
    const tarballs = join(project, 'tarballs');
    await run(process.execPath, [join(root, 'scripts/pack.mjs'), '--out', tarballs, 'client', 'testing']);
    const files = readdirSync(tarballs).filter((file) => file.endsWith('.tgz'));
    expect(files).toHaveLength(2);
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'application', private: true }));
    const packages = files.map((file) => join(tarballs, file));
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], { cwd: project });
  }, 180_000);

  afterAll(() => rmSync(project, { recursive: true, force: true }));

  it.each([
    ['ES modules', 'application.test.mjs', IMPORTED],
    ['CommonJS', 'application.test.cjs', REQUIRED],
  ])('runs under node:test, in %s', { timeout: 60_000 }, async (_system, file, source) => {
    writeFileSync(join(project, file), source);
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const args = ['--test', '--test-reporter=tap', file];
    const { stdout } = await run(process.execPath, args, { cwd: project, env });
    expect(stdout).toMatch(/^# pass 2$/m);
    expect(stdout).toMatch(/^# fail 0$/m);
  });

  it('loads one file of its own code, and nothing that it does not need', { timeout: 60_000 }, async () => {
    writeFileSync(join(project, 'loaded.cjs'), LOADED);
    const { stdout } = await run(process.execPath, ['loaded.cjs'], { cwd: project });
    const loaded = JSON.parse(stdout) as readonly string[];
    const own = loaded.filter((file) => file.startsWith('@holdfast/'));
    const ofEach = (name: string) => ['index.js', 'code.js'].map((file) => `@holdfast/${name}/dist/${file}`);
    expect(own.toSorted()).toEqual([...ofEach('client'), ...ofEach('testing')].toSorted());
    const packages = new Set(
      loaded.filter((file) => !own.includes(file)).map((file) => /^(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? file),
    );
    expect([...packages]).toEqual(['ws']);
  });

  it('gives Node.js little to read for the names of its exports', () => {
    for (const name of ['client', 'testing']) {
      const { size } = statSync(join(project, 'node_modules/@holdfast', name, 'dist/index.js'));
      expect(size).toBeLessThan(8 * 1024);
    }
  });
});
