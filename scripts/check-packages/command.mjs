// A command that has to succeed, and what it says.

import { spawnSync } from 'node:child_process';

/** @returns {string} its standard output */
export function command(program, args, { cwd, env = {} } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}
