/** Keeps a child that was stopped with SIGSTOP from staying behind, stopped, for ever when this process ends. */

import { spawn } from 'node:child_process';

/** A helper continues `pid` when this process ends, so that it sees its standard input closed. Returns what ends the helper. */
export function watchPaused(pid: number): () => void {
  const helper = spawn('/bin/sh', ['-c', 'read -r line; kill -CONT "$1" 2>/dev/null', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  helper.on('error', () => undefined);
  helper.stdin.on('error', () => undefined);
  return () => helper.stdin.end();
}
