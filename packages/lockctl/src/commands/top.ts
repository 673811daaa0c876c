/** `lockctl top`: servers and the most contended locks on one screen, again and again until it is interrupted. */

import type { CommandRun, GlobalOptions } from '../command-run.ts';
import type { Environment } from '../environment.ts';
import { UsageFailure, reportFailure } from '../failure.ts';
import { formatAge, renderTable } from '../output/table.ts';
import { showStatus } from './status.ts';

/** A screen has few lines; these are the locks for which most wait. */
const SHOWN_LOCKS = 12;
/** Of a listing that may be of a million locks, so many are looked at. */
const MAX_LOCKS_READ = 10_000;

export interface TopOptions {
  readonly intervalMs: number;
  /** A status request longer than this is a server that hangs. */
  readonly statusTimeoutMs: number;
}

export async function runTop(
  globals: GlobalOptions,
  { intervalMs, statusTimeoutMs }: TopOptions,
  run: CommandRun,
  outside: Environment,
): Promise<void> {
  if (globals.json) throw new UsageFailure('top is for people; scripts read "lockctl status --json"');
  let interrupted = false;
  let wake = (): void => {};
  const unsubscribe = outside.onSignal((signal) => {
    if (signal === 'SIGTSTP') return;
    interrupted = true;
    wake();
  });
  try {
    while (!interrupted) {
      const screen = await screenOf(globals, statusTimeoutMs, run, outside);
      if (interrupted) break;
      outside.clearScreen();
      outside.writeOut(screen);
      await new Promise<void>((resolve) => {
        const cancel = outside.after(intervalMs, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
  } finally {
    unsubscribe();
  }
}

/** What cannot be asked is said in its place: the rest of the screen is what is needed then. */
async function screenOf(
  globals: GlobalOptions,
  statusTimeoutMs: number,
  run: CommandRun,
  outside: Environment,
): Promise<string> {
  let text = '';
  const collecting: Environment = { ...outside, writeOut: (content) => void (text += String(content)) };
  const shown = async (show: () => Promise<void>): Promise<void> => {
    try {
      await show();
    } catch (error) {
      text += `${reportFailure(error).message}\n`;
    }
  };
  await shown(() => showStatus(globals.servers, statusTimeoutMs, false, collecting));
  text += '\n';
  await shown(async () => {
    text += await locksOf(globals, run, outside);
  });
  return text;
}

async function locksOf(globals: GlobalOptions, run: CommandRun, outside: Environment): Promise<string> {
  const rows: { readonly waiters: number; readonly cells: readonly string[] }[] = [];
  let more = '';
  await run.asOperator(
    globals,
    async (client) => {
      for await (const { lock, holders, waiters } of client.admin.locks(undefined, {})) {
        const [holder] = holders;
        const since = holder === undefined ? '' : formatAge(holder.grantedAt, outside.nowMs());
        rows.push({ waiters, cells: [lock, String(waiters), since, holder?.label ?? '', String(holder?.token ?? '')] });
        if (rows.length < MAX_LOCKS_READ) continue;
        more = `of the first ${MAX_LOCKS_READ} locks\n`;
        break;
      }
    },
    true,
  );
  const most = rows.toSorted((left, right) => right.waiters - left.waiters).slice(0, SHOWN_LOCKS);
  if (most.length === 0) return 'No lock is held.\n';
  const table = renderTable(
    ['LOCK', 'WAITERS', 'HELD', 'HOLDER', 'TOKEN'],
    most.map(({ cells }) => cells),
  );
  return `${table}${more}`;
}
