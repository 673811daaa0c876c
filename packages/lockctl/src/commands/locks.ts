/** `lockctl locks` and `lockctl show`: who holds what, who waits, and which locks are delayed. */

import type { LockDelay, QueueEntry } from '@holdfast/protocol';

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
  const rows = locks.flatMap(({ lock, kind, holders, waiters, delay }) => {
    const shownKind = onlyMutexes ? '' : kindText(kind);
    const shownDelay = delay === undefined ? '' : delayText(delay, now);
    // It is delayed, or who waits for it waits for another one, too.
    if (holders.length === 0) return [[lock, shownKind, '', '-', '-', '', '-', String(waiters), shownDelay]];
    return holders.map((holder, position) => [
      position === 0 ? lock : '',
      position === 0 ? shownKind : '',
      parametersText(kind, holder.parameters),
      String(holder.token),
      String(holder.session),
      holder.label,
      formatAge(holder.grantedAt, now),
      position === 0 ? String(waiters) : '',
      position === 0 ? shownDelay : '',
    ]);
  });
  const header = ['LOCK', 'KIND', 'ASKED FOR', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS', 'DELAYED'];
  outside.writeOut(renderTable(header, rows, ['KIND', 'ASKED FOR', 'DELAYED']));
}

export async function showLock(
  client: OperatorClient,
  name: string,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const { kind, holders, waiters, truncated, delay } = await client.admin.lock(name, sources.options);
  if (json) return writeJson(outside, { lock: name, kind, holders, waiters, truncated, delay, ...sources.reported });
  const queue = [...holders, ...waiters];
  const now = outside.nowMs();
  if (delay !== undefined) {
    outside.writeOut(
      `Delayed: nobody is granted it for ${delayText(delay, now)}, since its holder under token ${delay.token} was lost;\n` +
        'where nothing of that holder can arrive any more, "lockctl end-delay" ends it.\n',
    );
  }
  if (queue.length === 0) {
    outside.writeOut(`Nobody holds lock "${printable(name)}" or waits for it.\n`);
    return;
  }
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
    requestText(entry, now),
  ]);
  const header = ['#', 'STATE', 'ASKED FOR', 'TOKEN', 'SESSION', 'LABEL', 'QUEUED', 'HELD', 'ACQUIRE', 'REQUESTED'];
  if (!isMutex(kind)) outside.writeOut(`Kind: ${kindText(kind)}\n`);
  outside.writeOut(renderTable(header, rows, ['ASKED FOR', 'REQUESTED']));
  if (truncated) outside.writeOut('The queue is longer than what is shown.\n');
}

/** That the holder was asked to release: when, by whom, within what time, and what comes then. */
function requestText({ releaseRequest }: QueueEntry, now: number): string {
  if (releaseRequest === undefined) return '';
  const { askedAt, withinMs, revokes, by } = releaseRequest;
  const who = by === '' ? '' : ` by ${by}`;
  return `${formatAge(askedAt, now)} ago${who}, within ${withinMs / 1_000}s, then ${revokes ? 'revoked' : 'left'}`;
}

/** `5s from 2s ago`: how long, and since when; a new leader begins anew. */
function delayText({ delayMs, since }: LockDelay, now: number): string {
  return `${delayMs / 1_000}s from ${formatAge(since, now)} ago`;
}
