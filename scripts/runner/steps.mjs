// Runs the steps of a check and says how each went. A step's output is shown when it fails, or as it comes when it asks for that.

import { spawn } from 'node:child_process';

import { root } from './tool.mjs';

/**
 * @typedef {{ name: string, command: string[], live?: boolean, env?: Record<string, string> }} Step
 * @param {Step[]} steps run at once
 * @returns {Promise<string[]>} names of the steps that failed
 */
export async function runTogether(steps) {
  const failed = await Promise.all(steps.map(async (step) => ((await run(step)) ? [] : [step.name])));
  return failed.flat();
}

/** @param {Step} step */
export async function run(step) {
  const startedAt = performance.now();
  if (step.live) console.log(`>     ${step.name}`);
  const { code, output } = await execute(step);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok   ' : 'FAIL '} ${step.name} (${seconds} s)`);
  if (code !== 0 && output !== '') console.log(indent(output));
  return code === 0;
}

function execute({ command: [program, ...args], live, env }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe'],
    });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('error', (error) => resolve({ code: 1, output: `cannot be started: ${error.message}` }));
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 1, output: signal ? `${output}\nended by ${signal}` : output }),
    );
  });
}

function indent(text) {
  return text.trimEnd().replaceAll(/^/gm, '      ');
}
