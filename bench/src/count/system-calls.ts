/** System calls of one process and all its threads between two moments, counted by strace. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** What makes a write to the log durable: its segments are opened so that a write returns when it is on disk. */
const DURABLE = new Set(['pwrite64', 'pwritev', 'pwritev2', 'fsync', 'fdatasync', 'sync_file_range']);
const ATTACH_TIMEOUT_MS = 10_000;

export interface SystemCalls {
  readonly total: number;
  readonly durableWrites: number;
  readonly byName: ReadonlyMap<string, number>;
}

/** Undefined when processes can be traced; otherwise why not. */
export function tracingProblem(): string | undefined {
  if (spawnSync('strace', ['-V']).error !== undefined) return 'strace is missing; install it (apt-get install strace)';
  const permitted = spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0;
  return permitted ? undefined : 'strace may not trace processes here; allow ptrace';
}

export class SystemCallCount {
  readonly #strace: ChildProcess;
  #output = '';

  private constructor(pid: number) {
    this.#strace = spawn('strace', ['-f', '-c', '-p', `${pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#strace.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
  }

  static async begin(pid: number): Promise<SystemCallCount> {
    const count = new SystemCallCount(pid);
    const deadline = performance.now() + ATTACH_TIMEOUT_MS;
    while (!count.#output.includes('attached')) {
      if (performance.now() > deadline) throw new Error(`strace did not attach to process ${pid}: ${count.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return count;
  }

  async end(): Promise<SystemCalls> {
    const closed = once(this.#strace, 'close');
    this.#strace.kill('SIGINT');
    await closed;
    return parseSummary(this.#output);
  }
}

/** The table that `strace -c` prints: name last, calls fourth; the column of errors may be empty. */
export function parseSummary(text: string): SystemCalls {
  const byName = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z_][a-z0-9_]*)\s*$/.exec(line);
    if (match === null || match[2] === 'total') continue;
    byName.set(match[2] ?? '', (byName.get(match[2] ?? '') ?? 0) + Number(match[1]));
  }
  let total = 0;
  let durableWrites = 0;
  for (const [name, calls] of byName) {
    total += calls;
    if (DURABLE.has(name)) durableWrites += calls;
  }
  return { total, durableWrites, byName };
}
