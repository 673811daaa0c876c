import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

import { examplesModule, examplesOf } from '../api-reference/examples.mjs';
import { readInterface } from '../api-reference/interface.mjs';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const LIBRARIES = ['client', 'testing', 'fenced-kv-client', 'opentelemetry'];

interface Described {
  readonly name: string;
  readonly doc?: { readonly text: string; readonly example?: string };
}
interface Exported extends Described {
  readonly members: readonly Described[];
}

const interfaceOf = (library: string): readonly Exported[] => readInterface(ROOT, `@holdfast/${library}`) as Exported[];

describe.each(LIBRARIES)('the interface of @holdfast/%s', (library) => {
  const api = interfaceOf(library);

  it('says of every export what it is, with an example', () => {
    expect(api.length).toBeGreaterThan(0);
    expect(
      api.filter(({ doc }) => (doc?.text ?? '') === '' || (doc?.example ?? '') === '').map(({ name }) => name),
    ).toEqual([]);
  });

  it('says of every option, and of every member of a client and a hold, what it means', () => {
    const spoken = api.filter(({ name }) => name.endsWith('Options') || name === 'Client' || name === 'HeldLock');
    const silent = spoken.flatMap(({ name, members }) =>
      members.filter(({ doc }) => doc === undefined).map((member) => `${name}.${member.name}`),
    );
    expect(silent).toEqual([]);
  });
});

describe('the examples of the doc comments', () => {
  it('compile', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'holdfast-examples-'));
    onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
    mkdirSync(join(scratch, 'node_modules/@holdfast'), { recursive: true });
    for (const library of LIBRARIES)
      symlinkSync(join(ROOT, 'packages', library), join(scratch, 'node_modules/@holdfast', library));
    symlinkSync(
      join(ROOT, 'packages/opentelemetry/node_modules/@opentelemetry'),
      join(scratch, 'node_modules/@opentelemetry'),
    );
    for (const library of LIBRARIES) {
      const api = interfaceOf(library);
      expect(examplesOf(api).length).toBeGreaterThan(0);
      writeFileSync(join(scratch, `${library}.mts`), examplesModule(`@holdfast/${library}`, api));
    }
    const compilerOptions = {
      noEmit: true,
      composite: false,
      incremental: false,
      customConditions: [],
      // Users have neither unless they ask for it.
      noUncheckedIndexedAccess: false,
      verbatimModuleSyntax: false,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    };
    const files = LIBRARIES.map((library) => `${library}.mts`);
    writeFileSync(
      join(scratch, 'tsconfig.json'),
      JSON.stringify({ extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, files }),
    );
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', scratch, '--pretty', 'false'], { cwd: scratch }).catch(
      (error: { readonly stdout: string }) => error,
    );
    expect(stdout).toBe('');
  });
});
