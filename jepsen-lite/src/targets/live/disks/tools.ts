/** The programs of the system that do what Node can't. */

import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const TOOL_LIMIT_MS = 30_000;
const execute = promisify(execFile);

/** Rejects with what the program said when it fails or hangs. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { timeout: TOOL_LIMIT_MS });
  return stdout;
}

export function isInstalled(program: string): boolean {
  // What administrators use is not on everybody's PATH.
  const path = `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`;
  return path.split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The last line of what a program said, for a message. */
export function reasonOf(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split('\n');
  return lines.at(-1) ?? '';
}
