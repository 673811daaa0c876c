/** What a lockd that was started with {@link REPORT_MEMORY} really has in use, after a full collection. */

import type { LockdProcess } from './lockd-process.ts';
import { until } from './lockd-process.ts';

/** For Node. */
export const REPORT_MEMORY = ['--import', new URL('report-memory.mjs', import.meta.url).href];

export async function bytesInUse(server: LockdProcess): Promise<number> {
  const reports = (): string[] => server.stdout.match(/in use: \d+/g) ?? [];
  const before = reports().length;
  server.kill('SIGUSR2');
  await until(() => reports().length > before);
  return Number(reports().at(-1)?.slice('in use: '.length));
}
