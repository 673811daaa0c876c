import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

import { connect } from '@holdfast/client';
import { describe, expect, it } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';

const REQUESTS = 40;
const O_DSYNC = 0o10000;

interface DurableWrite {
  readonly pid: number;
  /** Milliseconds since the Unix epoch at which the system call returned. */
  readonly endedAt: number;
}

/** Watches one process's writes to its log until `stop`. */
class LogWatch {
  readonly #pid: number;
  readonly #strace: ChildProcess;
  readonly #logDescriptors: ReadonlySet<string>;
  #output = '';

  constructor(pid: number) {
    this.#pid = pid;
    this.#logDescriptors = new Set(durableLogDescriptors(pid));
    this.#strace = spawn('strace', [
      '-f',
      '-ttt',
      '-T',
      '-s',
      '0',
      '-e',
      'trace=pwrite64,pwritev,pwritev2',
      '-p',
      `${pid}`,
    ]);
    this.#strace.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
  }

  async attached(): Promise<void> {
    await expect.poll(() => this.#output, { timeout: 10_000 }).toContain('attached');
  }

  async stop(): Promise<DurableWrite[]> {
    this.#strace.kill('SIGINT');
    await once(this.#strace, 'close');
    const writes: DurableWrite[] = [];
    /** By thread: the descriptor of a write that is shown in two lines. */
    const unfinished = new Map<string, string>();
    for (const line of this.#output.split('\n')) {
      const [, thread = '', at = '', call = ''] = /^(?:\[pid\s+(\d+)\] )?(\d+\.\d+) (.*)$/.exec(line) ?? [];
      const begun = /^pwrite\w*\((\d+),/.exec(call)?.[1];
      if (begun !== undefined && call.endsWith('<unfinished ...>')) unfinished.set(thread, begun);
      const seconds = /= \d+ <(\d+\.\d+)>$/.exec(call)?.[1];
      if (seconds === undefined) continue;
      const descriptor = begun ?? unfinished.get(thread);
      if (descriptor === undefined || !this.#logDescriptors.has(descriptor)) continue;
      // A whole line shows when the call began, a resumed one when it ended.
      const endedAt = begun === undefined ? Number(at) : Number(at) + Number(seconds);
      writes.push({ pid: this.#pid, endedAt: endedAt * 1_000 });
    }
    return writes;
  }
}

/** Descriptors of log segments that are opened so that each write is durable when it returns. */
function durableLogDescriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).filter((descriptor) => {
    if (!readlinkSync(`/proc/${pid}/fd/${descriptor}`).endsWith('.wal')) return false;
    const flags = /flags:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & O_DSYNC) !== 0;
  });
}

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (spawnSync('strace', ['-V']).error !== undefined) return 'needs strace';
  const permitted = spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0;
  return permitted ? undefined : 'may not trace processes here';
}

describe('a reply to a command', () => {
  it('comes after a durable write on a quorum', async (context) => {
    const reason = missing();
    if (reason !== undefined) context.skip(reason);
    const { ensemble, stop } = await startScratchEnsemble();
    try {
      const client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 60_000 });
      const watches = ensemble.servers.map((id) => new LogWatch(ensemble.pid(id) ?? 0));
      await Promise.all(watches.map((watch) => watch.attached()));

      const requests: { readonly sentAt: number; readonly answeredAt: number }[] = [];
      for (let n = 0; n < REQUESTS; n += 1) {
        const sentAt = performance.timeOrigin + performance.now();
        await client.nodes.create(`/durable-${n}`);
        requests.push({ sentAt, answeredAt: performance.timeOrigin + performance.now() });
      }
      const writes = (await Promise.all(watches.map((watch) => watch.stop()))).flat();
      await client.close();

      expect(writes.length).toBeGreaterThanOrEqual(2 * REQUESTS);
      for (const [n, { sentAt, answeredAt }] of requests.entries()) {
        const durable = new Set(
          writes.filter(({ endedAt }) => endedAt >= sentAt && endedAt <= answeredAt).map(({ pid }) => pid),
        );
        expect(durable.size, `request ${n}`).toBeGreaterThanOrEqual(2);
      }
    } finally {
      await stop();
    }
  });
});
