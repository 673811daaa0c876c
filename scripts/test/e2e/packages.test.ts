import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const LIBRARIES = [
  'client',
  'testing',
  'opentelemetry',
  'fenced-kv-client',
  'fence',
  'fence-conformance',
  'fence-postgresql',
  'fence-mysql',
  'fence-sqlite',
  'fence-redis',
  'fence-s3',
  'fence-files',
  'fence-http',
];
const FENCES = LIBRARIES.filter((name) => /^fence(?:-|$)/.test(name));
const PROGRAMS = ['lockd', 'lockctl', 'fenced-kv'];
const PACKAGES = [...LIBRARIES, ...PROGRAMS];
const BUNDLED = /(?:from|require\(|import\()\s*['"]@holdfast\/(?:runtime|protocol|raft|state|lockd)\b/;
/** What the packages need of others, as the workspace has it. */
const INSTALLED = {
  ws: 'runtime',
  '@opentelemetry/api': 'opentelemetry',
  pg: 'fences/postgresql',
  '@types/pg': 'fences/postgresql',
  mysql2: 'fences/mysql',
  '@aws-sdk/client-s3': 'fences/s3',
};

interface Manifest {
  readonly private?: boolean;
  readonly types?: string;
  readonly main?: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: unknown;
}

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-packages-'));
const scope = join(scratch, 'node_modules/@holdfast');
const packed = (name: string): string => join(scope, name);
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(packed(name), 'package.json'), 'utf8')) as Manifest;

function filesOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.\w+$/.test(file))
    .map((file) => join(directory, file));
}

// By hand what an installation does, which for all of them needs a network.
beforeAll(async () => {
  const tarballs = join(scratch, 'tarballs');
  await run(process.execPath, [join(ROOT, 'scripts/pack.mjs'), '--out', tarballs]);
  for (const name of PACKAGES) {
    mkdirSync(packed(name), { recursive: true });
    const [tarball = ''] = readdirSync(tarballs).filter((file) =>
      new RegExp(`^holdfast-${name}-\\d.*\\.tgz$`).test(file),
    );
    await run('tar', ['-xzf', join(tarballs, tarball), '--strip-components=1', '-C', packed(name)]);
  }
  for (const name of ['@opentelemetry', '@types', '@aws-sdk']) mkdirSync(join(scratch, 'node_modules', name));
  for (const [name, user] of Object.entries(INSTALLED)) {
    symlinkSync(join(ROOT, 'packages', user, 'node_modules', name), join(scratch, 'node_modules', name));
  }
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(scratch, 'node_modules/@types/node'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A project of its own, with the applications of the fixtures in it. */
function project(name: string, type: 'module' | 'commonjs'): string {
  const directory = join(scratch, name);
  cpSync(join(ROOT, 'scripts/test/fixtures/consumers'), directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ private: true, type }));
  return directory;
}

/** @returns what the program prints */
async function compiledAndRun(directory: string, program: string): Promise<string> {
  const compilerOptions = {
    target: 'ES2022',
    module: 'node16',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: ['node'],
    outDir: 'out',
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`${program}.ts`] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', directory, '--pretty', 'false']).catch(
    (error: { readonly stdout: string }) => error,
  );
  expect(stdout).toBe('');
  const file = join(directory, `out/${program}.js`);
  return (await run(process.execPath, ['--unhandled-rejections=strict', file])).stdout;
}

describe.each(PACKAGES)('the package @holdfast/%s', (name) => {
  it('has all that it says, and runs nothing when it is installed', () => {
    const { main, types, bin, private: hidden, scripts } = manifestOf(name);
    const named = [main, types, ...Object.values(bin ?? {})].filter((file) => file !== undefined);
    expect(named.length).toBeGreaterThan(0);
    const wanted = [...named, 'README.md', 'CHANGELOG.md', 'LICENSE'];
    expect(wanted.filter((file) => !existsSync(join(packed(name), file)))).toEqual([]);
    expect([hidden, scripts]).toEqual([undefined, undefined]);
  });

  it('imports no part of the workspace that is not published', () => {
    const code = filesOf(join(packed(name), 'dist')).filter((file) => !file.endsWith('.map'));
    expect(code.filter((file) => BUNDLED.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('has maps that lead to sources which it ships', () => {
    const maps = filesOf(join(packed(name), 'dist')).filter((file) => file.endsWith('.map'));
    const sources = maps.flatMap((map) => {
      const { sources: named } = JSON.parse(readFileSync(map, 'utf8')) as { readonly sources: readonly string[] };
      return named.map((source) => join(dirname(map), source));
    });
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.filter((source) => !existsSync(source))).toEqual([]);
  });
});

describe('the libraries', () => {
  it('need only what they are known to need', () => {
    expect(Object.keys(manifestOf('client').dependencies)).toEqual(['ws']);
    expect(manifestOf('fenced-kv-client').dependencies).toEqual({});
    expect(manifestOf('testing').dependencies).toEqual({});
    expect(Object.keys(manifestOf('testing').peerDependencies ?? {})).toEqual(['@holdfast/client']);
    for (const name of FENCES) expect(manifestOf(name).dependencies).toEqual({});
    expect(Object.keys(manifestOf('fence-postgresql').peerDependencies ?? {})).toEqual(['pg']);
    expect(Object.keys(manifestOf('fence-mysql').peerDependencies ?? {})).toEqual(['mysql2']);
    expect(Object.keys(manifestOf('fence-s3').peerDependencies ?? {})).toEqual(['@aws-sdk/client-s3']);
    expect(manifestOf('opentelemetry').dependencies).toEqual({});
    expect(Object.keys(manifestOf('opentelemetry').peerDependencies ?? {})).toEqual([
      '@holdfast/client',
      '@opentelemetry/api',
    ]);
  });

  it('declare nothing that is internal', () => {
    const declarations = LIBRARIES.flatMap((name) => filesOf(join(packed(name), 'dist'))).filter((file) =>
      /\.d\.m?ts$/.test(file),
    );
    expect(declarations.length).toBeGreaterThan(LIBRARIES.length);
    expect(declarations.filter((file) => readFileSync(file, 'utf8').includes('@internal'))).toEqual([]);
  });

  it.each(['module', 'commonjs'] as const)('compile strictly and run in a project of type %s', async (type) => {
    expect(await compiledAndRun(project(type, type), 'main')).toBe('holds\n');
  });

  it.each([
    ['an ES module', 'thread.mjs', "import { connect } from '@holdfast/client';"],
    ['CommonJS', 'thread.cjs', "const { connect } = require('@holdfast/client');"],
  ])('find the thread of heartbeats beside them, as %s', async (_, file, load) => {
    const program = join(project(file, 'module'), file);
    const options = "{ servers: ['127.0.0.1:1'], failFast: true, maxStallMs: 5000 }";
    writeFileSync(program, `${load}\nconnect(${options}).catch(({ message }) => console.log(message));\n`);
    const { stdout } = await run(process.execPath, ['--unhandled-rejections=strict', program]);
    // Of the port, and not of the thread.
    expect(stdout).toMatch(/^no server could be reached: 127\.0\.0\.1:1 \((?!the heartbeat thread)/);
  });

  it('are one copy for a process that both imports and requires them', async () => {
    const { stdout } = await run(process.execPath, [join(project('both', 'module'), 'both.mjs')]);
    expect(stdout).toBe('holds\n');
  });
});

// They need nothing but what runs already, and drivers that an application has: so this needs no network.
describe('the fences, installed by npm in an empty project,', () => {
  // Not below the other one, whose packages would be found as well.
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-installed-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  beforeAll(async () => {
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ private: true }));
    const tarballs = readdirSync(join(scratch, 'tarballs')).filter((file) =>
      /^holdfast-fence-?[a-z0-9.-]*\.tgz$/.test(file),
    );
    const fences = tarballs
      .filter((file) => !file.startsWith('holdfast-fenced'))
      .map((file) => join(scratch, 'tarballs', file));
    expect(fences).toHaveLength(FENCES.length);
    const quietly = [
      '--offline',
      '--legacy-peer-deps',
      '--no-audit',
      '--no-fund',
      '--cache',
      join(scratch, 'npm-cache'),
    ];
    await run('npm', ['install', ...quietly, ...fences], { cwd: directory });
    for (const name of ['pg', 'mysql2', '@types', '@aws-sdk']) {
      symlinkSync(join(scratch, 'node_modules', name), join(directory, 'node_modules', name));
    }
  });

  it('are there with their peers named, and nothing else', () => {
    const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, unknown>>;
    };
    const installed = Object.keys(packages).filter((path) => path !== '');
    expect(installed.toSorted()).toEqual(FENCES.map((name) => `node_modules/@holdfast/${name}`).toSorted());
  });

  it.each(['module', 'commonjs'] as const)('compile strictly and run in a project of type %s', async (type) => {
    const place = join(directory, type);
    mkdirSync(place);
    cpSync(join(ROOT, 'scripts/test/fixtures/consumers/fences.ts'), join(place, 'fences.ts'));
    writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type }));
    expect(await compiledAndRun(place, 'fences')).toBe('holds\n');
  });
});
