import { execFile } from 'node:child_process';
import { readFileSync, realpathSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresPrograms, query, startPostgres, type Postgres } from '@holdfast/fence-postgresql/test/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jepsenResource, startScratch, type Ran, type Scratch } from '../resource/support/command.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const CONDITION = ' AND token <= $2';
const page = readFileSync(join(ROOT, 'docs/resource.md'), 'utf8');
const fencesPage = readFileSync(join(ROOT, 'docs/fences.md'), 'utf8');

/** The first block of the page in a language, or the one that has such a text. */
function block(language: string, text = '', of = page): string {
  const blocks = [...of.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language);
  const found = blocks.find(([, , content = '']) => content.includes(text))?.[2];
  if (found === undefined) throw new Error(`the page has no block in ${language} with ${JSON.stringify(text)}`);
  return found;
}

const bin = postgresPrograms();

describe('the PostgreSQL of the page about resources', () => {
  let postgres: Postgres;
  let scratch: Scratch;
  beforeAll(async () => {
    if (bin === undefined) return;
    [postgres, scratch] = await Promise.all([startPostgres(bin), startScratch()]);
    // A module finds its packages beside itself.
    mkdirSync(join(scratch.directory, 'node_modules/@holdfast'), { recursive: true });
    for (const name of ['pg', '@holdfast/client', '@holdfast/fence-postgresql']) {
      const found = realpathSync(join(ROOT, 'jepsen-lite/node_modules', name));
      symlinkSync(found, join(scratch.directory, 'node_modules', name));
    }
  });
  afterAll(async () => {
    await Promise.all([
      bin === undefined ? undefined : postgres.stop(),
      bin === undefined ? undefined : scratch.stop(),
    ]);
  });

  async function trial(module: string, ...args: readonly string[]): Promise<Ran> {
    await query(bin ?? '', postgres.url, `DROP TABLE IF EXISTS accounts; ${block('sql')}`);
    writeFileSync(join(scratch.directory, 'accounts.mjs'), module);
    const [, flags = ''] = /jepsen resource (--fence accounts\.mjs.*)$/m.exec(block('sh')) ?? [];
    const all = [...flags.split(' '), '--servers', scratch.servers, ...args];
    return await jepsenResource(all, { cwd: scratch.directory, env: { DATABASE_URL: postgres.url } });
  }

  it('is safe as the page has it', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const { code, stdout, stderr } = await trial(block('js', 'export async function open'));
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^race +safe +40 +80 /m);
  });

  it('is safe with the package', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    // The ensemble of each trial goes on counting, and so does the scope.
    const { code, stdout, stderr } = await trial(block('js', '@holdfast/fence-postgresql'));
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^race +safe +40 +80 /m);
  });

  it('lets stale writes in without the condition', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const module = block('js', 'export async function open');
    expect(module).toContain(CONDITION);
    const { code, stdout, stderr } = await trial(module.replace(CONDITION, ''), '--only', 'late-packet', 'zombie');
    expect(code, stdout + stderr).toBe(1);
    expect(stdout).toContain('STALE WRITES GOT IN');
  });

  it('lets a stale write in when it looks first, which the race finds', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const body = block('js', 'SELECT token').replace('async function write', 'async write');
    const module = block('js', 'export async function open').replace(/ {4}async write[\s\S]*?\n {4}},/, `${body},`);
    expect(module).toContain('SELECT token');
    const { code, stdout, stderr } = await trial(module, '--only', 'late-packet', 'race', '--rounds', '100');
    expect(code, stdout + stderr).toBe(1);
    expect(stdout).toMatch(/^late-packet +safe /m);
    expect(stdout).toMatch(/^race +STALE GOT IN /m);
  });

  it('is fenced in ten lines, and in the statements of the page about fences', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const jobs =
      "DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (id int, state text); INSERT INTO jobs VALUES (42, 'ready')";
    await query(bin ?? '', postgres.url, jobs);
    const lines = block('js', 'fence(pool', fencesPage).replace(
      /servers: \[.*?\]/,
      `servers: '${scratch.servers}'.split(',')`,
    );
    const file = join(scratch.directory, 'ten-lines.mjs');
    writeFileSync(file, `${lines}\nawait client.close();\nawait pool.end();\n`);
    await run(process.execPath, [file], { env: { ...process.env, DATABASE_URL: postgres.url } });
    const is = (state: string): string =>
      `DO $$ BEGIN ASSERT (SELECT state FROM jobs WHERE id = 42) = '${state}'; END $$`;
    await query(bin ?? '', postgres.url, is('running'));
    await query(bin ?? '', postgres.url, "UPDATE jobs SET state = 'ready'; DELETE FROM holdfast.fence");
    const statements = join(scratch.directory, 'statements.sql');
    writeFileSync(statements, block('sql', '', fencesPage));
    await run(join(bin ?? '', 'psql'), [postgres.url, '-v', 'ON_ERROR_STOP=1', '-f', statements]);
    await query(bin ?? '', postgres.url, is('running'));
  });
});
