// The ways in which users come to the libraries.

import { createRequire } from 'node:module';
import { symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { command } from './command.mjs';
import { application } from './installations.mjs';

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {'npm' | 'pnpm'} installer
 * @property {string} compiler
 * @property {() => void | Promise<void>} prepare
 * @property {(node: string) => void} run on that Node.js
 */

const STRICT = {
  target: 'ES2022',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  types: ['node'],
  outDir: 'out',
};
// ws is CommonJS: as an ES module a bundle of it needs a `require`.
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** @returns {Case[]} */
export function applicationCases({ tools, byNpm, byPnpm, env }) {
  const { typescript5, typescript7 } = tools;
  const cases = [
    ['ES module', 'npm', 'module', 'node16', 'node16', 'TypeScript 5.9', typescript5],
    ['ES module', 'pnpm', 'module', 'nodenext', 'nodenext', 'TypeScript 7.0', typescript7],
    ['ES module for a bundler', 'npm', 'module', 'esnext', 'bundler', 'TypeScript 5.9', typescript5],
    ['CommonJS', 'npm', 'commonjs', 'commonjs', 'node10', 'TypeScript 5.9', typescript5],
    ['CommonJS', 'npm', 'commonjs', 'node16', 'node16', 'TypeScript 5.9', typescript5],
    ['CommonJS', 'pnpm', 'commonjs', 'nodenext', 'nodenext', 'TypeScript 7.0', typescript7],
  ];
  return cases.map(([name, installer, type, module, moduleResolution, compiler, tsc], place) => {
    let directory;
    return {
      name,
      installer,
      compiler: `${compiler}, ${moduleResolution}`,
      prepare() {
        directory = application(installer === 'npm' ? byNpm : byPnpm, `application-${place}`, type, tools.types);
        const compilerOptions = { ...STRICT, module, moduleResolution };
        writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
        command(process.execPath, [tsc, '-p', directory, '--pretty', 'false'], { cwd: directory });
      },
      run: (node) => holds(node, join(directory, 'out/main.js'), env),
    };
  });
}

/** @returns {Case[]} */
export function runnerCases({ tools, byNpm, env }) {
  const jest = (name, pattern, args, more) => {
    let directory;
    return {
      name,
      installer: 'npm',
      compiler: 'none',
      prepare() {
        directory = application(byNpm, name.replaceAll(/\W/g, '-'), 'commonjs', tools.types);
      },
      run(node) {
        const config = {
          testMatch: [`**/${pattern}`],
          moduleFileExtensions: ['js', 'cjs', 'mjs'],
          transform: {},
          testTimeout: 60_000,
        };
        const options = ['--rootDir', directory, '--config', JSON.stringify(config), '--ci'];
        command(node, [...args, tools.jest, ...options], { cwd: directory, env: { ...env, ...more } });
      },
    };
  };
  let directory;
  return [
    jest('Jest 30, CommonJS', 'jest.test.cjs', [], {}),
    jest('Jest 30, ES module', 'esm.test.mjs', ['--experimental-vm-modules'], { CONSUMER_RUNNER: '@jest/globals' }),
    {
      name: 'vitest 4',
      installer: 'npm',
      compiler: 'none',
      prepare() {
        directory = application(byNpm, 'vitest', 'module', tools.types);
        symlinkSync(dirname(tools.vitest), join(directory, 'node_modules/vitest'));
      },
      run(node) {
        const args = [tools.vitest, 'run', '--root', directory, 'esm.test.mjs'];
        command(node, args, { cwd: directory, env: { ...env, CONSUMER_RUNNER: 'vitest' } });
      },
    },
  ];
}

/** @returns {Case[]} */
export function bundleCases({ tools, byNpm, env }) {
  const { build } = createRequire(import.meta.url)(tools.esbuild);
  return [
    { name: 'esbuild, CommonJS bundle', format: 'cjs', banner: {} },
    { name: 'esbuild, ES module bundle with a `require`', format: 'esm', banner: { js: REQUIRE } },
  ].map(({ name, format, banner }) => {
    let outfile;
    return {
      name,
      installer: 'npm',
      compiler: 'esbuild 0.28',
      async prepare() {
        const directory = application(byNpm, `bundle-${format}`, 'module', tools.types);
        outfile = join(directory, `out/bundle.${format === 'cjs' ? 'cjs' : 'mjs'}`);
        const entryPoints = [join(directory, 'main.ts')];
        await build({ entryPoints, outfile, format, banner, bundle: true, platform: 'node', logLevel: 'silent' });
      },
      run: (node) => holds(node, outfile, { ...env, CONSUMER_BUNDLED: 'yes' }),
    };
  });
}

function holds(node, file, env) {
  const said = command(node, ['--unhandled-rejections=strict', file], { cwd: dirname(file), env });
  if (said !== 'holds\n') throw new Error(`${file} said ${JSON.stringify(said)}`);
}
