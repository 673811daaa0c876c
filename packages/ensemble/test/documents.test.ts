import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import {
  ROOT,
  blocksOf,
  codeBlocks,
  commandsOf,
  deadLinks,
  inlineCommands,
  type CodeBlock,
} from './support/documents.ts';

const run = promisify(execFile);
const LANGUAGES = ['sh', 'js', 'ts', 'yaml', 'json', 'sql', 'text'];
/** A block more that nobody runs has to be counted here. */
const NOT_RUN = 42;

const blocks = codeBlocks();
const settings = readFileSync(join(ROOT, 'docs/generated/settings.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-documents-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function of(...languages: readonly string[]): readonly CodeBlock[] {
  const found = blocks.filter(({ language }) => languages.includes(language));
  expect(found).not.toEqual([]);
  return found;
}

/** The section of the settings for a program. */
function flagsOf(program: string): readonly string[] {
  const section = settings.split(/^## /m).find((each) => each.startsWith(`${program}\n`)) ?? '';
  return [...section.matchAll(/`(--[a-z-]+)/g)].map(([, flag = '']) => flag);
}

describe('the code blocks of the documents', () => {
  it('say in which language they are', () => {
    expect(blocks.filter(({ language }) => !LANGUAGES.includes(language)).map(({ at }) => at)).toEqual([]);
  });

  it('say why they are not run, if they are not, and are counted', () => {
    const notRun = blocks.filter((block) => block.notRun !== undefined);
    expect(notRun.map(({ at }) => at)).toHaveLength(NOT_RUN);
    // Whatever else is a command is run by test/e2e/documents.test.ts, and the rest here.
    expect(notRun.filter(({ language }) => language !== 'sh').map(({ at }) => at)).toEqual([]);
  });

  it('compile, if they are JavaScript or TypeScript', async () => {
    const files = of('js', 'ts').map((block, place) => {
      const file = `block-${place}.mts`;
      writeFileSync(join(scratch, file), `${block.given}\n${block.text}\nexport {};\n`);
      return { file, at: block.at };
    });
    const packages = join(ROOT, 'packages');
    const compilerOptions = {
      noEmit: true,
      composite: false,
      incremental: false,
      noImplicitAny: false,
      allowImportingTsExtensions: true,
      rewriteRelativeImportExtensions: false,
      typeRoots: [join(ROOT, 'node_modules/@types')],
      paths: {
        '@holdfast/client': [join(packages, 'client/src/index.ts')],
        '@holdfast/fence': [join(packages, 'fences/core/src/index.ts')],
        '@holdfast/fence-conformance': [join(packages, 'fences/conformance/src/index.ts')],
        '@holdfast/fence-postgresql': [join(packages, 'fences/postgresql/src/index.ts')],
        '@holdfast/fence-s3': [join(packages, 'fences/s3/src/index.ts')],
        '@holdfast/fence-files': [join(packages, 'fences/files/src/index.ts')],
        '@holdfast/fence-http': [join(packages, 'fences/http/src/index.ts')],
        '@aws-sdk/client-s3': [join(packages, 'fences/s3/node_modules/@aws-sdk/client-s3/dist-types/index.d.ts')],
        '@holdfast/opentelemetry': [join(packages, 'opentelemetry/src/index.ts')],
        '@holdfast/testing': [join(packages, 'testing/src/index.ts')],
        '@holdfast/fence-mysql': [join(packages, 'fences/mysql/src/index.ts')],
        '@holdfast/fence-sqlite': [join(packages, 'fences/sqlite/src/index.ts')],
        libsql: [join(packages, 'fences/sqlite/node_modules/libsql/types/index.d.ts')],
        '@holdfast/fence-redis': [join(packages, 'fences/redis/src/index.ts')],
        'mysql2/promise': [join(packages, 'fences/mysql/node_modules/mysql2/promise.d.ts')],
        ioredis: [join(packages, 'fences/redis/node_modules/ioredis/built/index.d.ts')],
        redis: [join(packages, 'fences/redis/node_modules/redis/dist/index.d.ts')],
        pg: [join(ROOT, 'jepsen-lite/node_modules/@types/pg/index.d.ts')],
        '@holdfast/fenced-kv-client': [join(packages, 'fenced-kv-client/src/index.ts')],
      },
    };
    const config = { extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, files: files.map(({ file }) => file) };
    writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
    const compiler = createRequire(join(ROOT, 'package.json')).resolve('typescript/package.json');
    const tsc = join(compiler, '..', 'bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', scratch, '--pretty', 'false'], { cwd: scratch }).catch(
      (error: { readonly stdout: string }) => error,
    );
    // As its reader finds it.
    const problems = files.reduce((text, { file, at }) => text.replaceAll(file, at), stdout);
    expect(problems).toBe('');
  });

  it('can be parsed, if they are YAML', () => {
    const { parse } = createRequire(join(ROOT, 'packages/lockd/package.json'))('yaml') as {
      parse: (text: string) => unknown;
    };
    for (const { text, at } of of('yaml')) expect(parse(text), at).toBeTypeOf('object');
  });

  it('name flags, scripts and files that there are, if they are commands', () => {
    const wrong: string[] = [];
    const commands = [
      ...of('sh').flatMap((block) => commandsOf(block).map(({ text }) => ({ at: block.at, text }))),
      ...inlineCommands(),
    ];
    for (const { at, text } of commands) {
      const words = text.replace(/^npx -y pnpm@12 |^pnpm /, '').split(/\s+/);
      const [program = ''] = words;
      if (text.startsWith('npx -y pnpm@12') && scripts[program] === undefined) wrong.push(`${at}: script ${program}`);
      const known = flagsOf(program);
      const own = words.slice(0, words.includes('--') ? words.indexOf('--') : words.length);
      const flags = own.flatMap((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1] ?? []);
      if (known.length > 0)
        wrong.push(...flags.filter((flag) => ![...known, '--help'].includes(flag)).map((flag) => `${at}: ${flag}`));
      const paths = words.filter((word) => /^(packages|jepsen-lite|bench|scripts|docs)\//.test(word));
      wrong.push(...paths.filter((path) => !existsSync(join(ROOT, path))).map((path) => `${at}: ${path}`));
    }
    expect(wrong).toEqual([]);
    expect(commands.length).toBeGreaterThan(40);
  });
});

describe('the links of the documents', () => {
  it('lead to files that there are, and to headings in them', () => {
    expect(deadLinks()).toEqual([]);
  });
});

describe('the reader of code blocks', () => {
  it('finds languages, lines and what comments say of a block', () => {
    const text = `# A\n\n<!-- not run: no room -->\n\`\`\`sh\na \\\n  b  # c; exits with 2\n# d\n\`\`\`\n\n<!-- given: let x: 1; -->\n\`\`\`ts\nx;\n\`\`\`\n`;
    const [first, second] = blocksOf('A.md', text);
    expect(first).toMatchObject({ at: 'A.md:4', language: 'sh', notRun: 'no room', given: '' });
    expect(first === undefined ? [] : commandsOf(first)).toEqual([{ text: 'a  b', exitCode: 2 }]);
    expect(second).toMatchObject({ at: 'A.md:11', language: 'ts', notRun: undefined, given: 'let x: 1;' });
  });
});
