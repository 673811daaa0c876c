/** `lockctl locks` and `lockctl show`: who holds what, and who waits. */

import type { AnswerSources } from '../answer-sources.ts';
import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../json.ts';
import { formatAge, renderTable } from '../table.ts';
import { printable } from '../text.ts';

export async function listLocks(
  client: OperatorClient,
  prefix: string | undefined,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const locks = [];
  for await (const lock of client.admin.locks(prefix, sources.options)) locks.push(lock);
  if (json) return writeJson(outside, { locks, ...sources.reported });
  if (locks.length === 0) {
    const which = prefix === undefined ? 'No lock' : `No lock whose name begins with "${printable(prefix)}"`;
    outside.writeOut(`${which} is held.\n`);
    return;
  }
  const now = outside.nowMs();
  const rows = locks.flatMap(({ lock, holders, waiters }) =>
    holders.map((holder, position) => [
      position === 0 ? lock : '',
      String(holder.token),
      String(holder.session),
      holder.label,
      formatAge(holder.grantedAt, now),
      position === 0 ? String(waiters) : '',
    ]),
  );
  outside.writeOut(renderTable(['LOCK', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS'], rows));
}

export async function showLock(
  client: OperatorClient,
  name: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const { holders, waiters, truncated } = await client.admin.lock(name, sources.options);
  if (json) return writeJson(outside, { lock: name, holders, waiters, truncated, ...sources.reported });
  const queue = [...holders, ...waiters];
  if (queue.length === 0) {
    outside.writeOut(`Nobody holds lock "${printable(name)}" or waits for it.\n`);
    return;
  }
  const now = outside.nowMs();
  const rows = queue.map((entry, position) => [
    String(position + 1),
    entry.token === 0 ? 'waits' : 'holds',
    entry.token === 0 ? '-' : String(entry.token),
    String(entry.session),
    entry.label,
    formatAge(entry.since, now),
    entry.token === 0 ? '-' : formatAge(entry.grantedAt, now),
    String(entry.acquireIndex),
  ]);
  outside.writeOut(renderTable(['#', 'STATE', 'TOKEN', 'SESSION', 'LABEL', 'QUEUED', 'HELD', 'ACQUIRE'], rows));
  if (truncated) outside.writeOut('The queue is longer than what is shown.\n');
}
