import { readFileSync, realpathSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jepsenResource, startScratch, type Ran, type Scratch } from '../resource/support/command.ts';
import { postgresPrograms, query, startPostgres, type Postgres } from '../resource/support/postgres.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CONDITION = ' AND token <= $2';
const page = readFileSync(join(ROOT, 'docs/resource.md'), 'utf8');

/** The first block of the page in a language, or the one that has such a text. */
function block(language: string, text = ''): string {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language);
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
    mkdirSync(join(scratch.directory, 'node_modules'));
    symlinkSync(realpathSync(join(ROOT, 'jepsen-lite/node_modules/pg')), join(scratch.directory, 'node_modules/pg'));
  });
  afterAll(async () => {
    await Promise.all([
      bin === undefined ? undefined : postgres.stop(),
      bin === undefined ? undefined : scratch.stop(),
    ]);
  });

  async function run(module: string, ...args: readonly string[]): Promise<Ran> {
    await query(bin ?? '', postgres.url, `DROP TABLE IF EXISTS accounts; ${block('sql')}`);
    writeFileSync(join(scratch.directory, 'accounts.mjs'), module);
    const [, flags = ''] = /jepsen resource (--fence accounts\.mjs.*)$/m.exec(block('sh')) ?? [];
    const all = [...flags.split(' '), '--servers', scratch.servers, ...args];
    return await jepsenResource(all, { cwd: scratch.directory, env: { DATABASE_URL: postgres.url } });
  }

  it('is safe as the page has it', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const { code, stdout, stderr } = await run(block('js', 'export async function open'));
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^race +safe +40 +80 /m);
  });

  it('lets stale writes in without the condition', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const module = block('js', 'export async function open');
    expect(module).toContain(CONDITION);
    const { code, stdout, stderr } = await run(module.replace(CONDITION, ''), '--only', 'late-packet', 'zombie');
    expect(code, stdout + stderr).toBe(1);
    expect(stdout).toContain('STALE WRITES GOT IN');
  });

  it('lets a stale write in when it looks first, which the race finds', async (context) => {
    context.skip(bin === undefined, 'PostgreSQL is not installed');
    const body = block('js', 'SELECT token').replace('async function write', 'async write');
    const module = block('js', 'export async function open').replace(/ {4}async write[\s\S]*?\n {4}},/, `${body},`);
    expect(module).toContain('SELECT token');
    const { code, stdout, stderr } = await run(module, '--only', 'late-packet', 'race', '--rounds', '100');
    expect(code, stdout + stderr).toBe(1);
    expect(stdout).toMatch(/^late-packet +safe /m);
    expect(stdout).toMatch(/^race +STALE GOT IN /m);
  });
});
