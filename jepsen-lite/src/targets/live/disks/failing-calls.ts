/** Makes the next system call of a kind fail in a process that runs, by strace. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import type { StruckFault } from '@holdfast/runtime/sim';
import { isInstalled } from './tools.ts';
import { VolumeError, type DiskOperation } from './volume.ts';

/** What libuv calls for positional I/O; sockets and pipes use others. */
const CALLS: Readonly<Record<DiskOperation, string>> = {
  append: 'pwrite64,pwritev,pwritev2',
  sync: 'fsync,fdatasync',
  read: 'pread64,preadv,preadv2',
};
/** What it is counted as when it struck. */
export const FAILED_EFFECTS = {
  append: 'write-failed',
  sync: 'sync-failed',
  read: 'read-failed',
} as const satisfies Record<DiskOperation, StruckFault>;
const ATTACH_LIMIT_MS = 10_000;
/** What it needs to let go of a process. */
const DETACH_MS = 1_000;

/** Why no call can be made to fail here; undefined where it can. */
export function failingCallsProblem(): string | undefined {
  if (process.platform !== 'linux') return `needs Linux, and this is ${process.platform}`;
  if (!isInstalled('strace')) return 'needs strace, not found on the PATH';
  const permitted = spawnSync('strace', ['-qq', '-e', 'trace=none', 'true']).status === 0;
  return permitted ? undefined : 'may not trace processes here';
}

export class FailingCall {
  readonly #strace: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(strace: ChildProcess, ended: Promise<unknown>) {
    this.#strace = strace;
    this.#ended = ended;
  }

  /** Armed when it resolves. `onFailed` is called once, when a call has failed; then the process is traced no longer. */
  static async arm(operation: DiskOperation, pid: number, onFailed: () => void): Promise<FailingCall> {
    const calls = CALLS[operation];
    const what = ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`];
    const strace = spawn('strace', ['-f', ...what, '-p', `${pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(strace, 'close');
    // Awaited by who disarms; an error shows as one that never attached.
    ended.catch(() => undefined);
    const failing = new FailingCall(strace, ended);
    await new Promise<void>((resolve, reject) => {
      const refuse = (why: string): void => reject(new VolumeError(`strace cannot attach to ${pid}: ${why}`));
      const timer = setTimeout(() => refuse('it takes too long'), ATTACH_LIMIT_MS);
      let said = '';
      let struck = false;
      const lines = createInterface({ input: strace.stderr });
      lines.on('line', (line) => {
        said = line;
        if (line.includes(' attached')) {
          clearTimeout(timer);
          resolve();
        }
        if (struck || !line.includes('(INJECTED)')) return;
        struck = true;
        onFailed();
        failing.#letGo();
      });
      lines.on('close', () => {
        clearTimeout(timer);
        refuse(said);
      });
    });
    return failing;
  }

  async disarm(): Promise<void> {
    this.#letGo();
    await this.#ended.catch(() => undefined);
  }

  /**
   * Where it does not let go in time it is killed, and the kernel does: it has been seen to wait for ever for a process that ended meanwhile, which
   * could not end either before that.
   */
  #letGo(): void {
    this.#strace.kill('SIGTERM');
    const late = setTimeout(() => this.#strace.kill('SIGKILL'), DETACH_MS);
    void this.#ended.catch(() => undefined).then(() => clearTimeout(late));
  }
}
