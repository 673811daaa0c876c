/** What memory a lockd takes: as the machine sees it, and what is really in use of that. */

import { readFileSync } from 'node:fs';
import type { LockdProcess } from './lockd-process.ts';
import { until } from './lockd-process.ts';

/** For Node. */
export const REPORT_MEMORY = ['--import', new URL('report-memory.mjs', import.meta.url).href];

/** After a full collection. The server was started with {@link REPORT_MEMORY}. */
export async function bytesInUse(server: LockdProcess): Promise<number> {
  const reports = (): string[] => server.stdout.match(/in use: \d+/g) ?? [];
  const before = reports().length;
  server.kill('SIGUSR2');
  await until(() => reports().length > before);
  return Number(reports().at(-1)?.slice('in use: '.length));
}

/** Its resident set. Linux. */
export function residentBytes(server: LockdProcess): number {
  const [, kib = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}
