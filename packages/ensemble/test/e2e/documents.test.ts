import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, codeBlocks, commandsOf, type CodeBlock } from '../support/documents.ts';
import { findFreeBasePort } from '@holdfast/ensemble';
import { startScratchEnsemble } from './scratch-ensemble.ts';

const PROGRAMS = ['lockd', 'lockctl', 'fenced-kvd'];
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** `packages/lockd/dist/main.js`, as the script of that name runs it. */
function entryOf(script: string): string {
  const entry = /\S+\/dist\/\S+\.js$/.exec(scripts[script] ?? '')?.[0];
  if (entry === undefined) throw new Error(`package.json has no script ${script} that runs a built program`);
  return join(ROOT, entry);
}

describe('the commands of the documents', () => {
  const shellBlocks = codeBlocks().filter(({ language, notRun }) => language === 'sh' && notRun === undefined);
  const children = new Set<ChildProcess>();
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-documents-'));
  let stop: (() => Promise<void>) | undefined;
  let ports: number;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    const bin = join(scratch, 'bin');
    mkdirSync(bin);
    const program = (name: string, text: string): void => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    const node = (script: string): string => `exec '${process.execPath}' '${entryOf(script)}' "$@"`;
    for (const name of PROGRAMS) program(name, node(name));
    // What is built need not be built again, nor pnpm be fetched.
    const cases = [...PROGRAMS, 'demo', 'jepsen'].map((name) => `${name}) ${node(name)} ;;`);
    program('npx', `shift 2\nscript=$1\nshift\ncase $script in\n${cases.join('\n')}\nesac\nexit 127`);
    const running = await startScratchEnsemble();
    stop = running.stop;
    const { basePort } = running;
    ports = await findFreeBasePort(3);
    environment = {
      ...process.env,
      PATH: `${bin}:${process.env['PATH']}`,
      HOLDFAST_SERVERS: [1, 2, 3].map((id) => `127.0.0.1:${basePort + id}`).join(),
    };
  });

  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await stop?.();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** At ports and in a directory of its own. */
  function here(text: string): string {
    return text
      .replaceAll(/127\.0\.0\.1:7(\d{3})/g, (_, port: string) => `127.0.0.1:${ports - 100 + Number(port)}`)
      .replaceAll('/var/lib', scratch);
  }

  function start(command: string): { readonly child: ChildProcess; readonly output: () => string } {
    const child = spawn('/bin/sh', ['-c', `exec ${here(command)}`], { cwd: scratch, env: environment });
    children.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    return { child, output: () => output };
  }

  async function ended(child: ChildProcess): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    children.delete(child);
    return child.exitCode;
  }

  async function runBlock(block: CodeBlock): Promise<string> {
    let all = '';
    const commands = commandsOf(block);
    for (const [place, { text, exitCode }] of commands.entries()) {
      const { child, output } = start(text);
      if (block.untilStopped && place === commands.length - 1) {
        await expect.poll(output, { timeout: 20_000, message: `${block.at}: ${text}` }).toContain(' serves ');
        child.kill('SIGTERM');
      }
      expect(await ended(child), `${block.at}: ${text}\n${output()}`).toBe(exitCode);
      all += output();
    }
    return all;
  }

  for (const block of shellBlocks) {
    it(`do what they should: ${block.at}`, async () => {
      const output = await runBlock(block);
      expect(output).not.toBe('');
    });
  }

  it('are run in four places at least', () => {
    expect(shellBlocks.length).toBeGreaterThanOrEqual(4);
  });
});
