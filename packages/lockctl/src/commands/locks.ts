/** `lockctl locks` and `lockctl show`: who holds what, and who waits. */

import type { AnswerSources } from '../answer-sources.ts';
import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';
import { isMutex, kindText, parametersText } from '../output/lock-kind-text.ts';
import { formatAge, renderTable } from '../output/table.ts';
import { printable } from '../output/text.ts';

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
  const onlyMutexes = locks.every(({ kind }) => isMutex(kind));
  const rows = locks.flatMap(({ lock, kind, holders, waiters }) => {
    const shownKind = onlyMutexes ? '' : kindText(kind);
    // Who waits for it waits for another one, too.
    if (holders.length === 0) return [[lock, shownKind, '', '-', '-', '', '-', String(waiters)]];
    return holders.map((holder, position) => [
      position === 0 ? lock : '',
      position === 0 ? shownKind : '',
      parametersText(kind, holder.parameters),
      String(holder.token),
      String(holder.session),
      holder.label,
      formatAge(holder.grantedAt, now),
      position === 0 ? String(waiters) : '',
    ]);
  });
  const header = ['LOCK', 'KIND', 'ASKED FOR', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS'];
  outside.writeOut(renderTable(header, rows, ['KIND', 'ASKED FOR']));
}

export async function showLock(
  client: OperatorClient,
  name: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const { kind, holders, waiters, truncated } = await client.admin.lock(name, sources.options);
  if (json) return writeJson(outside, { lock: name, kind, holders, waiters, truncated, ...sources.reported });
  const queue = [...holders, ...waiters];
  if (queue.length === 0) {
    outside.writeOut(`Nobody holds lock "${printable(name)}" or waits for it.\n`);
    return;
  }
  const now = outside.nowMs();
  const rows = queue.map((entry, position) => [
    String(position + 1),
    entry.token === 0 ? 'waits' : 'holds',
    parametersText(kind, entry.parameters),
    entry.token === 0 ? '-' : String(entry.token),
    String(entry.session),
    entry.label,
    formatAge(entry.since, now),
    entry.token === 0 ? '-' : formatAge(entry.grantedAt, now),
    String(entry.acquireIndex),
  ]);
  const header = ['#', 'STATE', 'ASKED FOR', 'TOKEN', 'SESSION', 'LABEL', 'QUEUED', 'HELD', 'ACQUIRE'];
  if (!isMutex(kind)) outside.writeOut(`Kind: ${kindText(kind)}\n`);
  outside.writeOut(renderTable(header, rows, ['ASKED FOR']));
  if (truncated) outside.writeOut('The queue is longer than what is shown.\n');
}
