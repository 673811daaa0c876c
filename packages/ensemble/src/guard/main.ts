/**
 * Runs another program so that it never outlives its launcher: `node guard/main.js TARGET ARGS…`. The launcher holds the other end
 * of standard input; when that closes, however the launcher ended, the program is stopped as by SIGTERM, and is killed when
 * it does not. The program itself needs to know nothing of this.
 */

import { pathToFileURL } from 'node:url';

const GRACE_MS = 15_000;

const [runtime = process.execPath, , target, ...args] = process.argv;
if (target === undefined) {
  process.stderr.write('guard: names no program to run\n');
  process.exit(2);
}
process.argv = [runtime, target, ...args];

let asked = false;
function stop(): void {
  if (asked) return;
  asked = true;
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
}

process.stdin.on('end', stop).on('close', stop).on('error', stop).resume();
// A program that has nothing left to do ends, as it would without the guard.
if ('unref' in process.stdin) process.stdin.unref();

await import(pathToFileURL(target).href);
